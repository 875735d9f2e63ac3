// SPDX-License-Identifier: Apache-2.0
#include "tests/model/checker.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include "zklock/core/znode_name.h"

namespace zklock::model {

namespace {

/// Permits are counted elsewhere.
bool exclude(Access a, Access b) {
  return a == Access::exclusive || b == Access::exclusive || a != b;
}

/// The time by which a call may exceed its deadline, for a callback within its process.
constexpr Duration kSlack = std::chrono::milliseconds(20);

template <class... Words>
std::string sentence(const Words&... words) {
  std::string text;
  (text.append(words), ...);
  return text;
}

std::string hash(std::uint32_t hold) {
  std::string text("#");
  return text.append(std::to_string(hold));
}

/// Returns whether `each` is behind `own`. The znode of another program can be older and yet be
/// behind, because its name was made by hand. A downgrade that was in flight when the path was
/// recreated makes a reader's znode with the token of the old path.
bool is_behind(const Event& each, const Event& own) {
  const auto other = core::parse_znode_name(each.text);
  const auto mine = core::parse_znode_name(own.text);
  return other && mine && mine->before(*other);
}

}  // namespace

std::optional<Violation> check(const History& history) {
  Checker checker;
  for (const Event& event : history) checker.see(event);
  return checker.violation();
}

void Checker::report(const Event& event, const char* invariant, std::string text) {
  const std::string_view name = invariant;
  const bool of_order =
      name == "I1" || name == "I2" || name == "I4" || name == "I5" || name == "I6";
  if (spoiled_ && of_order) return;
  if (!violation_) violation_ = Violation{invariant, std::move(text), event.at};
}

void Checker::see(const Event& event) {
  if (violation_) return;
  switch (event.kind) {
    case Event::Kind::wanted: calls_[event.hold] = {.wanted = event}; return;
    case Event::Kind::ended: return ended(event);
    case Event::Kind::granted: return granted(event);
    case Event::Kind::said_held: return said_held(event);
    case Event::Kind::said_lost: return said_lost(event);
    case Event::Kind::notified: return notified(event);
    case Event::Kind::released:
      holds_.at(event.hold).released = true;
      holds_.at(event.hold).given_back = event.flag;
      return close(holds_.at(event.hold));
    case Event::Kind::taken: holds_.at(event.hold).taken = true; return;
    case Event::Kind::counted: return counted(event);
    case Event::Kind::made: return made(event);
    case Event::Kind::deleted: return deleted(event);
    case Event::Kind::spoiled:
      spoiled_ = event.flag;
      if (!event.flag) report(event, "I7", sentence("another's node is deleted: ", event.text));
      return;
    case Event::Kind::permits_set:
      resources_[event.resource].numbers.emplace_back(event.at, event.number);
      return;
    case Event::Kind::written: return written(event);
    case Event::Kind::refused:
      if (event.flag)
        report(event, "I5", sentence("a holder's write was refused, of ", hash(event.hold)));
      return;
    case Event::Kind::committed: return committed(event);
    case Event::Kind::seen: return seen(event);
    case Event::Kind::left: return report(event, "I8", sentence("left: ", event.text));
    case Event::Kind::miscounted: return report(event, "I10", event.text);
    case Event::Kind::rest: return rest(event);
    case Event::Kind::fault:
      if (event.flag) reads_can_be_refused_ = true;
      return;
    case Event::Kind::resigned:
    case Event::Kind::healed: return;
  }
}

void Checker::close(Held& held) {
  held.open = false;
  std::erase(resources_[held.grant.resource].open, held.grant.hold);
}

void Checker::granted(const Event& event) {
  Resource& resource = resources_[event.resource];
  if (const auto call = calls_.find(event.hold); call != calls_.end()) call->second.granted = true;
  if (!event.flag) check_exclusion(event, resource);
  if (event.token != FencingToken{} && !event.flag) {
    check_token(event, resource);
    check_queue(event, resource);
  }
  holds_[event.hold] = {.grant = event, .last_held = event.at, .taken = event.flag};
  resource.grants.push_back(event.hold);
  resource.open.push_back(event.hold);
}

// Holds that are queried at the time of a grant are queried before it.
void Checker::check_exclusion(const Event& event, Resource& resource) {
  std::int64_t permits = event.permits;
  std::set<FencingToken> counted{event.token};  // nested holds share their permits
  for (const std::uint32_t other : resource.open) {
    const Held& held = holds_.at(other);
    if (held.last_held != event.at || held.taken) continue;
    const bool same = held.grant.owner == event.owner;
    if (!same && exclude(held.grant.access, event.access)) {
      report(event, "I1",
             sentence(hash(event.hold), " is granted while ", hash(other), " says held"));
    }
    if (held.grant.access == Access::permits && counted.insert(held.grant.token).second) {
      permits += held.grant.permits;
    }
  }
  if (event.access != Access::permits) return;
  const auto call = calls_.find(event.hold);
  const Instant since = call == calls_.end() ? event.at : call->second.wanted.at;
  if (permits > most_permits(resource, since)) {
    report(event, "I1",
           sentence("with ", hash(event.hold), " there are ", std::to_string(permits),
                    " permits held, which is too many"));
  }
}

std::int64_t Checker::most_permits(const Resource& resource, Instant since) const {
  std::int64_t most = std::numeric_limits<std::int64_t>::min();
  for (auto each = resource.numbers.rbegin(); each != resource.numbers.rend(); ++each) {
    most = std::max(most, each->second);
    if (each->first < since) break;
  }
  return most;
}

void Checker::check_token(const Event& event, Resource& resource) {
  const auto known = resource.owners.find(event.token);
  if (known != resource.owners.end()) {
    if (known->second != event.owner) {
      report(event, "I2", hash(event.hold) + " has a token that another owner has had");
    }
    return;  // a nested hold
  }
  resource.owners.emplace(event.token, event.owner);
  const bool excludes = event.access == Access::exclusive;
  if (event.token < (excludes ? resource.highest : resource.highest_exclusive)) {
    report(event, "I2", hash(event.hold) + " has a lower token than one before it");
  }
  resource.highest = std::max(resource.highest, event.token);
  if (excludes) resource.highest_exclusive = std::max(resource.highest_exclusive, event.token);
}

void Checker::check_queue(const Event& event, Resource& resource) {
  std::int64_t permits = 0;
  const Contender* own = nullptr;
  for (const Contender& each : resource.queue) {
    if (each.made.token.zxid == event.token.zxid) own = &each;
  }
  if (own == nullptr) return;  // deleted meanwhile, or downgraded
  for (Contender& each : resource.queue) {
    if (each.made.token.zxid >= event.token.zxid || each.made.access == Access::weighted) continue;
    const bool may_be_behind = each.made.flag || each.made.access == Access::shared;
    if (may_be_behind && is_behind(each.made, own->made)) continue;
    const bool excludes = exclude(each.made.access, own->made.access);
    if (excludes && !each.succeeded && may_succeed(*own, each)) each.succeeded = was_let_go(each);
    if (excludes && !each.succeeded) {
      report(event, "I6",
             hash(event.hold) + " is granted, and a node made before its own is there");
    }
    permits += each.made.permits;
  }
  if (own->made.access != Access::permits) return;
  const auto call = calls_.find(event.hold);
  const Instant since = call == calls_.end() ? event.at : call->second.wanted.at;
  if (permits + own->made.permits > most_permits(resource, since)) {
    report(event, "I6", hash(event.hold) + " is granted, and those before it want all permits");
  }
}

bool Checker::may_succeed(const Contender& next, const Contender& contender) {
  const auto is_of_mutex = [](const Contender& one) { return one.made.text.starts_with("lock-"); };
  return next.made.owner == contender.made.owner && is_of_mutex(next) && is_of_mutex(contender);
}

bool Checker::is_of(const Held& held, const Contender& contender) {
  return held.grant.resource == contender.made.resource &&
         held.grant.token.zxid == contender.made.token.zxid;
}

bool Checker::was_granted(const Contender& contender) const {
  return std::ranges::any_of(holds_,
                             [&](const auto& entry) { return is_of(entry.second, contender); });
}

bool Checker::was_let_go(const Contender& contender) const {
  return std::ranges::none_of(holds_, [&](const auto& entry) {
    return is_of(entry.second, contender) && !entry.second.given_back;
  });
}

void Checker::said_held(const Event& event) {
  Held& held = holds_.at(event.hold);
  if (held.said_lost) {
    return report(event, "I4", hash(event.hold) + " says held, and has said lost before");
  }
  if (held.notified > 0) {
    return report(event, "I4", hash(event.hold) + " says held, and its loss was notified before");
  }
  held.last_held = event.at;
  if (held.taken || !held.open) return;
  // Finds the grants of other contenders while this process was stopped and the hold was not
  // queried.
  const auto& grants = resources_[held.grant.resource].grants;
  while (held.compared < grants.size()) {
    const std::uint32_t id = grants[held.compared++];
    const Held& other = holds_.at(id);
    const Event& grant = other.grant;
    if (other.taken || grant.at <= held.grant.at) continue;
    if (grant.owner == held.grant.owner || !exclude(grant.access, held.grant.access)) continue;
    report(event, "I1",
           sentence(hash(event.hold), " says held, and ", hash(id), " was granted after it"));
  }
}

void Checker::said_lost(const Event& event) {
  Held& held = holds_.at(event.hold);
  if (held.open) close(held);
  held.said_lost = true;
  if (!event.flag && held.notified == 0 && !held.taken) {
    report(event, "I4",
           sentence("another is granted before ", hash(event.hold), " is notified of its loss"));
  }
}

void Checker::notified(const Event& event) {
  Held& held = holds_.at(event.hold);
  if (++held.notified > 1)
    report(event, "I4", sentence("the loss of ", hash(event.hold), " is notified twice"));
}

void Checker::counted(const Event& event) {
  std::int64_t expected = 0;
  for (const std::uint32_t id : resources_[event.resource].open) {
    const Held& held = holds_.at(id);
    if (held.grant.owner == event.owner) ++expected;
  }
  if (event.number != expected) {
    report(event, "I3",
           sentence("an owner has ", std::to_string(event.number), " counts, and ",
                    std::to_string(expected), " holds"));
  }
}

void Checker::made(const Event& event) {
  auto& queue = resources_[event.resource].queue;
  const bool twice = std::ranges::any_of(queue, [&](const Contender& other) {
    return event.attempt != 0 && other.made.attempt == event.attempt && !other.made.flag &&
           !event.flag;
  });
  if (twice) report(event, "I7", "an attempt has two nodes");
  queue.push_back({event});
}

void Checker::deleted(const Event& event) {
  auto& queue = resources_[event.resource].queue;
  const auto own =
      std::ranges::find(queue, event.token, [](const Contender& each) { return each.made.token; });
  if (own == queue.end()) return;
  // The history may lack its grant. It lacks those of the znodes ahead of it only if all are partial
  // holds of composite locks. Then an announcement shows that it was granted.
  if (was_let_go(*own)) {
    for (Contender& each : queue) {
      const bool is_ahead = each.made.token.zxid < own->made.token.zxid;
      const bool was_held = event.flag || was_granted(each);
      if (is_ahead && may_succeed(*own, each) && was_held && was_let_go(each)) {
        each.succeeded = true;
      }
    }
  }
  queue.erase(own);
}

void Checker::written(const Event& event) {
  Resource& resource = resources_[event.resource];
  if (event.token < resource.highest_written) {
    report(event, "I5", "a token is written that is lower than one before it");
  }
  resource.highest_written = std::max(resource.highest_written, event.token);
  if (event.number == 0) return;  // not a guarded transaction
  if (!event.flag)
    report(event, "I5", "a guarded write was executed although the lock znode did not exist");
  commits_.emplace(static_cast<std::uint32_t>(event.number), event.token);
}

void Checker::committed(const Event& event) {
  const bool done = commits_.contains(event.hold);
  if (event.number == 0 && !done) report(event, "I5", "a commit is said to be done, and is not");
  if (event.number == 1 && done) report(event, "I5", "a commit is said not to be done, and is");
}

void Checker::seen(const Event& event) {
  Sight& sight = sights_[event.hold];
  const bool holds = event.token != FencingToken{};
  if (event.number != 0) {
    const auto said = commits_.find(static_cast<std::uint32_t>(event.number));
    if (!holds || said == commits_.end() || said->second != event.token) {
      report(event, "I5", "an observer receives a value that this leader has not proclaimed");
    }
  }
  const bool same = holds && sight.holds && event.token == sight.highest;
  if (holds && !same && event.token <= sight.highest) {
    report(event, "I2", "an observer receives a holder whose end it has seen");
  }
  // A listener without READ on the proclaimed znode gets no value.
  const bool is_unreadable = event.number == 0 && reads_can_be_refused_;
  if (same && event.number < sight.number && !is_unreadable) {
    report(event, "I2", "an observer receives an older value of the same leader");
  }
  const std::int64_t number = same ? std::max(sight.number, event.number) : event.number;
  sight = {std::max(sight.highest, event.token), holds, number};
}

void Checker::ended(const Event& event) {
  const auto found = calls_.find(event.hold);
  if (found == calls_.end()) return report(event, "I9", "a call ends that never began");
  Call& call = found->second;
  if (++call.ends > 1)
    return report(event, "I9", sentence("the call ", hash(event.hold), " ends twice"));
  const std::int64_t deadline = call.wanted.number;
  if (event.flag || deadline == 0) return;
  if (event.at > Instant(Duration(deadline)) + kSlack) {
    report(event, "I9", sentence("the call ", hash(event.hold), " ends after its deadline"));
  }
}

void Checker::rest(const Event& event) {
  for (const auto& [id, call] : calls_) {
    if (call.ends == 0) {
      return report(event, "I9", sentence("the call ", hash(id), " has not ended"));
    }
  }
  for (const auto& [id, held] : holds_) {
    if (held.open) return report(event, "I9", sentence("the hold ", hash(id), " is held at rest"));
    if (held.said_lost && held.notified == 0 && !held.released) {
      return report(event, "I4", sentence("the loss of ", hash(id), " was never notified"));
    }
  }
}

}  // namespace zklock::model
