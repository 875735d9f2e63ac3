// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <random>
#include <vector>

#include "zklock/core/lease_evidence.h"

namespace zklock::core::lease_test {

/// The packets of one session that the server received, and the leader's knowledge in the worst
/// case. It follows the behaviour of ZooKeeper, and does not use LeaseEvidence.
///
/// At every half tick the follower names to the leader the sessions that sent it a packet since the
/// half tick before. The last contact of the leader with a session is the last half tick that named
/// it, or the handshake, which the leader itself answers. If a handshake resumes an old session,
/// the follower does not count it among the packets: Learner.revalidate touches nothing.
///
/// The client does not depend on the length of a half tick. So each query has it as an argument,
/// and one history is checked against many lengths.
class Servers {
 public:
  /// `timeout`: the time after which the leader expires the session, measured by the client's
  /// clock.
  Servers(Duration timeout, Instant handshake, bool handshake_is_named)
      : timeout_(timeout), handshake_(handshake) {
    if (handshake_is_named) packets_.push_back(handshake);
  }

  /// REQUIRES: the packets arrive in order.
  void arrived(Instant at) { packets_.push_back(at); }

  /// Returns the last contact of the leader with the session, if the follower is separated from the
  /// leader right after `at`. `any_half_tick` is the time of any half tick.
  Instant contact(Instant at, Duration half_tick, Instant any_half_tick) const {
    Instant tick = any_half_tick + (at - any_half_tick) / half_tick * half_tick;
    if (tick > at) tick -= half_tick;
    const auto after = std::upper_bound(packets_.begin(), packets_.end(), tick);
    if (after == packets_.begin()) return handshake_;
    // The first half tick at or after the last packet that arrived by `tick`.
    return tick - (tick - *(after - 1)) / half_tick * half_tick;
  }

  /// Returns the earliest time at which the leader can expire the session. REQUIRES: an operation
  /// that arrived at `at` was executed, and no packet arrived after it.
  Instant earliest_end(Instant at, Duration half_tick) const {
    const Duration instant{1};
    Instant earliest = at + timeout_;
    const auto consider = [&](Instant any_half_tick) {
      const Instant end = contact(at, half_tick, any_half_tick) + timeout_;
      // After an earlier end the operation would have been refused.
      earliest = std::min(earliest, std::max(end, at));
    };
    consider(at);
    consider(at + instant);
    // The result changes only if a half tick moves past a packet.
    for (auto packet = packets_.rbegin(); packet != packets_.rend(); ++packet) {
      consider(*packet - instant);
      consider(*packet);
      if (at - *packet > timeout_ + timeout_ / 2) break;
    }
    return earliest;
  }

  /// Returns the last contact of the leader with the session, if the follower is separated from the
  /// leader right after `at`. The distance of neighbouring session requests differs from
  /// `half_tick` by up to `lateness`. `random` selects the times of the requests, and prefers those
  /// that just miss a packet. During `pause` no request is answered.
  struct Pause {
    Instant begins;
    Instant ends;
  };
  Instant late_contact(Instant at, Duration half_tick, Duration lateness, const Pause& pause,
                       std::mt19937_64& random) const {
    Instant question = choose(at - half_tick - lateness + Duration{1}, at, random);
    if (pause.begins < pause.ends) {
      // After a pause an operation can be executed before the next session request.
      question =
          at <= pause.ends + lateness
              ? choose(pause.begins - half_tick - lateness + Duration{1}, pause.begins, random)
              : std::max(question, choose(pause.ends, pause.ends + lateness, random));
    }
    while (!packets_.empty() && question >= packets_.front()) {
      const Duration shortest = std::max(half_tick - lateness, Duration{1});
      const Instant before = choose(question - half_tick - lateness, question - shortest, random);
      const auto after = std::upper_bound(packets_.begin(), packets_.end(), before);
      if (after != packets_.end() && *after <= question) return question;
      question = before;
    }
    return handshake_;
  }

  /// Returns the lengths of a half tick, up to `longest`, that are worst for a gap before `at`.
  /// Such a half tick names the session at the start of the gap, and then not until right before
  /// its end. A longer half tick misses the session less often, and a shorter one for a shorter
  /// time.
  std::vector<Duration> that_miss_the_gaps(Instant at, Duration longest) const {
    std::vector<Duration> half_ticks;
    Instant next = at;
    for (auto packet = packets_.rbegin(); packet != packets_.rend(); ++packet) {
      const Duration below = next - *packet - Duration{1};
      const auto fewest = std::max<std::int64_t>((below + longest - Duration{1}) / longest, 1);
      if (below / fewest >= longest / 10) half_ticks.push_back(below / fewest);
      next = *packet;
      if (at - *packet > longest) break;
    }
    return half_ticks;
  }

 private:
  /// Returns a moment from `earliest` to `latest`: a boundary, a packet, the moment before it, or
  /// any other.
  Instant choose(Instant earliest, Instant latest, std::mt19937_64& random) const {
    switch (random() % 4) {
      case 0: return earliest;
      case 1: {
        const auto packet = std::lower_bound(packets_.begin(), packets_.end(), earliest);
        if (packet == packets_.end() || *packet > latest) return latest;
        return std::max(*packet - Duration(static_cast<std::int64_t>(random() % 2)), earliest);
      }
      case 2: {
        const auto packet = std::upper_bound(packets_.begin(), packets_.end(), latest);
        if (packet == packets_.begin() || *(packet - 1) < earliest) return latest;
        return std::max(*(packet - 1) - Duration(static_cast<std::int64_t>(random() % 2)),
                        earliest);
      }
      default: {
        const auto spread = static_cast<std::uint64_t>((latest - earliest).count() + 1);
        return earliest + Duration(static_cast<std::int64_t>(random() % spread));
      }
    }
  }

  Duration timeout_;
  Instant handshake_;
  std::vector<Instant> packets_;
};

/// A connection of a client to a follower, driven at random. It has requests, pauses of the
/// process, and optionally the C client's pings, which LeaseEvidence does not see.
class Connection {
 public:
  struct Conditions {
    Duration timeout{};
    Duration servers_timeout{};  ///< measured by the client's clock
    bool handshake_is_named = false;
    bool pauses = true;
    bool pings = false;
    bool server_pauses = false;  ///< of the leader or the follower
  };
  struct Operation {
    Instant sent;
    Instant arrived;
    Instant answered;
    Instant previous_sent;  ///< of the previous request, or connected_
    AnsweredBy by;
    Instant carried_out;   ///< by the leader, for a quorum operation
    Servers::Pause pause;  ///< the last server pause before carried_out
    /// No request waited for the end of the pause for more than T/24.
    bool pause_was_hidden;
  };
  /// Called for a reply before LeaseEvidence::on_answered().
  using Look = std::function<void(const Operation&, const LeaseEvidence&, const Servers&)>;

  Connection(std::uint64_t seed, const Conditions& conditions)
      : random_(seed),
        timeout_(conditions.timeout),
        conditions_(conditions),
        began_(Instant(std::chrono::hours(1))),
        connected_(began_ + up_to(timeout_ / 3)),
        servers_(conditions.servers_timeout, began_ + up_to(connected_ - began_),
                 conditions.handshake_is_named),
        evidence_(timeout_, began_, connected_) {
    last_sent_ = last_arrival_ = last_answer_ = connected_;
    requests_ = static_cast<int>(random_() % 7);
    answers_ = static_cast<int>(random_() % 6);
    next_request_ = connected_ + time_to_request();
    plan_pause(connected_);
    if (conditions_.server_pauses) plan_server_pause(connected_);
  }

  void run(int operations, const Look& look) {
    while (operations > 0) {
      const Event event = next_event();
      if (conditions_.pauses && event.at >= pause_begins_ && event.at < pause_ends_) {
        sleep();
        continue;
      }
      switch (event.kind) {
        case Kind::ping: ping(event.at); break;
        case Kind::request: request(event.at); break;
        case Kind::answer:
          answer(event.at, look);
          --operations;
          break;
      }
      if (event.at >= pause_ends_) plan_pause(event.at);
    }
  }

 private:
  enum class Kind { ping, request, answer };
  struct Event {
    Instant at;
    Kind kind;
  };

  Duration up_to(Duration most) {
    if (most.count() <= 0) return Duration{0};
    return Duration(
        static_cast<std::int64_t>(random_() % (static_cast<std::uint64_t>(most.count()) + 1)));
  }
  Duration about(Duration middle) { return middle - timeout_ / 96 + up_to(timeout_ / 48); }
  bool one_in(unsigned n) { return random_() % n == 0; }

  Duration time_to_request() {
    const auto style = one_in(4) ? static_cast<int>(random_() % 8) : requests_;
    switch (style) {
      case 0: return timeout_ / 10;
      case 1: return up_to(timeout_ / 10);
      case 2: return about(timeout_ / 8);
      case 3: return up_to(timeout_ / 4);
      case 4: return about(timeout_ / 4);
      case 5: return about(timeout_ / 3);
      case 6: return up_to(timeout_ + timeout_ / 2);
      default: return up_to(timeout_ / 200);
    }
  }
  Duration time_to_answer() {
    const auto style = one_in(6) ? static_cast<int>(random_() % 6) : answers_;
    switch (style) {
      case 0: return Duration{0};
      case 1: return up_to(timeout_ / 500);
      case 2: return about(timeout_ / 48);
      case 3: return up_to(timeout_ / 4);
      case 4: return about(timeout_ / 4);
      default: return up_to(one_in(4) ? timeout_ / 2 : timeout_ / 48);
    }
  }
  void plan_pause(Instant now) {
    pause_begins_ = now + up_to(timeout_ * (one_in(2) ? 1 : 4));
    const Duration lengths[] = {up_to(timeout_ / 16), up_to(timeout_ / 8), about(timeout_ / 16),
                                up_to(timeout_)};
    pause_ends_ = pause_begins_ + std::max(lengths[random_() % 4], Duration{1});
  }

  void plan_server_pause(Instant now) {
    server_pause_.begins = now + timeout_ / 2 + up_to(timeout_ * 2);
    server_pause_.ends = server_pause_.begins + up_to(timeout_ + timeout_ / 4);
    leader_pauses_ = one_in(2);
    pause_was_hidden_ = true;
  }
  /// Returns when a server that pauses at `at` continues; otherwise `at`.
  Instant after_pause(Instant at) const {
    return at >= server_pause_.begins && at < server_pause_.ends ? server_pause_.ends : at;
  }

  /// Returns the next event. Selects at random among events at an equal time.
  Event next_event() {
    std::vector<Event> events{{next_request_, Kind::request}};
    if (!outstanding_.empty()) {
      events.push_back({outstanding_.front().answered, Kind::answer});
    } else if (conditions_.pings) {
      events.push_back({std::max(last_sent_ + timeout_ / 3, last_answer_), Kind::ping});
    }
    std::shuffle(events.begin(), events.end(), random_);
    Event next = *std::min_element(events.begin(), events.end(),
                                   [](const Event& a, const Event& b) { return a.at < b.at; });
    // A pause moves everything that was due in it to its end.
    next.at = std::max(next.at, slept_until_);
    return next;
  }
  void sleep() {
    slept_until_ = pause_ends_;
    next_request_ = std::max(next_request_, slept_until_);
    last_answer_ = std::max(last_answer_, slept_until_);
    for (Operation& each : outstanding_) each.answered = std::max(each.answered, slept_until_);
    plan_pause(slept_until_ + Duration{1});
  }

  void ping(Instant now) {
    last_sent_ = now;
    last_arrival_ = std::max(last_arrival_, now + up_to(timeout_ / 2));
    servers_.arrived(last_arrival_);
  }
  void request(Instant now) {
    Operation operation{.sent = now,
                        .arrived = now,
                        .answered = now,
                        .previous_sent = previous_request_.value_or(connected_),
                        .by = one_in(4)   ? AnsweredBy::server
                              : one_in(3) ? AnsweredBy::leader
                                          : AnsweredBy::quorum,
                        .carried_out = now,
                        .pause = {},
                        .pause_was_hidden = false};
    if (conditions_.server_pauses && now > server_pause_.ends + timeout_ / 2)
      plan_server_pause(now);
    const Duration takes = time_to_answer();
    const Duration ways[] = {Duration{0}, takes, up_to(takes)};
    operation.arrived = std::max(last_arrival_, now + ways[random_() % 3]);
    if (!leader_pauses_) operation.arrived = after_pause(operation.arrived);
    operation.carried_out = std::max(last_carried_out_, operation.arrived);
    if (operation.by != AnsweredBy::server) {
      operation.carried_out = last_carried_out_ = after_pause(operation.carried_out);
    }
    operation.answered = std::max({last_answer_, operation.carried_out, now + takes});
    const bool waited_for_it = operation.by != AnsweredBy::server || !leader_pauses_;
    if (waited_for_it && now < server_pause_.ends - timeout_ / 24 &&
        operation.answered >= server_pause_.ends) {
      pause_was_hidden_ = false;
    }
    if (operation.carried_out >= server_pause_.begins) {
      operation.pause = server_pause_;
      operation.pause_was_hidden = pause_was_hidden_;
    }
    last_sent_ = now;
    last_arrival_ = operation.arrived;
    last_answer_ = operation.answered;
    previous_request_ = now;
    servers_.arrived(operation.arrived);
    outstanding_.push_back(operation);
    next_request_ = now + std::max(time_to_request(), Duration{1});
  }
  void answer(Instant now, const Look& look) {
    Operation operation = outstanding_.front();
    outstanding_.pop_front();
    operation.answered = now;
    look(operation, evidence_, servers_);
    evidence_.on_answered(operation.sent, now, operation.by);
  }

  std::mt19937_64 random_;
  Duration timeout_;
  Conditions conditions_;
  Instant began_;
  Instant connected_;
  Servers servers_;
  LeaseEvidence evidence_;
  Instant last_sent_;
  Instant last_arrival_;
  Instant last_answer_;
  Instant next_request_;
  Instant pause_begins_;
  Instant pause_ends_;
  Instant slept_until_;
  Servers::Pause server_pause_{Instant::max(), Instant::max()};
  bool leader_pauses_ = false;
  bool pause_was_hidden_ = false;
  Instant last_carried_out_ = Instant::min();
  std::optional<Instant> previous_request_;
  std::deque<Operation> outstanding_;
  int requests_ = 0;
  int answers_ = 0;
};

}  // namespace zklock::core::lease_test
