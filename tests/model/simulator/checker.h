// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tests/model/simulator/history.h"

namespace zklock::simulator {

struct Violation {
  std::string invariant;  ///< "I1"
  std::string text;
  Instant at;
};

/// Reads a history once, from its beginning to its end, and says what was not as promised.
///
/// | name | checked                                                                               |
/// |------|---------------------------------------------------------------------------------------|
/// | I1   | of what excludes each other, one hold at a time says held; permits, no more than there |
/// |      | were at any time since they were wanted. A hold whose node somebody deleted by hand is |
/// |      | excused from then on: it must say lost in the end, but may do so late                 |
/// | I2   | a grant's token is above those of all before that exclude it, and has one owner; what  |
/// |      | an observer is told never goes back                                                   |
/// | I3   | an owner's count is that of its holds while they are held, and 0 afterwards           |
/// | I4   | a loss is told once, and what was lost stays so; it is told before another is granted |
/// | I5   | nothing is written with a token below one that was written before, or without the lock |
/// |      | node where that guards; who holds is not refused; nobody is told a lie of a commit;    |
/// |      | an observer is told no value but what that leader has said                             |
/// | I6   | nobody is granted while one before him in the queue, whom he has to wait for, is there. |
/// |      | But a mutex's node whose holds were all given back is no more waited for in its own    |
/// |      | session, and then by nobody. What a lock of several holds before all are there is not  |
/// |      | told: where there are such, a node by which nobody was seen to hold is one of these    |
/// | I7   | an attempt has one node; nobody deletes another's. After somebody has deleted the      |
/// |      | nodes of a path by hand, and it was made anew, a release that was under way may meet   |
/// |      | another's node of the same name: from then on I1, I2, I4, I5, I6 are not judged        |
/// | I8   | nothing is left at rest                                                               |
/// | I9   | every call ends, once, by its deadline, and soon when there are no faults any more    |
class Checker {
 public:
  void see(const Event& event);
  /// The first, if there is one.
  const std::optional<Violation>& violation() const noexcept { return violation_; }

 private:
  struct Held {
    Event grant;
    Instant last_held;
    bool open = true;  ///< neither given back nor lost
    bool said_lost = false;
    bool released = false;
    bool given_back = false;  ///< while it was held
    bool taken = false;
    int told = 0;
  };
  struct Call {
    Event wanted;
    int ends = 0;
    bool granted = false;
  };
  struct Sight {
    FencingToken highest;  ///< that was ever seen to hold
    bool holds = false;    ///< is seen to hold now
    std::int64_t number = 0;
  };
  struct Contender {
    Event made;
    bool succeeded = false;  ///< by another of its session, though it is still there
  };
  struct Resource {
    FencingToken highest;            ///< that was granted
    FencingToken highest_exclusive;  ///< of those that exclude all others
    std::map<FencingToken, std::uint64_t> owners;
    std::vector<std::uint32_t> open;                        ///< holds
    std::vector<Contender> queue;                           ///< nodes that are there
    std::vector<std::pair<Instant, std::int64_t>> numbers;  ///< of permits
    FencingToken highest_written;
  };

  void granted(const Event& event);
  void check_exclusion(const Event& event, Resource& resource);
  void check_token(const Event& event, Resource& resource);
  void check_queue(const Event& event, Resource& resource);
  /// Before the node is gone.
  static bool may_succeed(const Contender& next, const Contender& contender);
  /// Nobody holds by it any more, though its node is there.
  bool was_let_go(const Contender& contender) const;
  void said_held(const Event& event);
  void said_lost(const Event& event);
  void told_lost(const Event& event);
  void counted(const Event& event);
  void made(const Event& event);
  void written(const Event& event);
  void commit_told(const Event& event);
  void seen(const Event& event);
  void ended(const Event& event);
  void rest(const Event& event);
  void close(Held& held);
  std::int64_t most_permits(const Resource& resource, Instant since) const;
  void report(const Event& event, const char* invariant, std::string text);

  std::unordered_map<std::uint32_t, Resource> resources_;
  std::unordered_map<std::uint32_t, Held> holds_;
  std::unordered_map<std::uint32_t, Call> calls_;
  std::unordered_map<std::uint32_t, FencingToken> commits_;  ///< that were carried out
  std::unordered_map<std::uint32_t, Sight> sights_;          ///< by observer
  bool parts_ = false;                                       ///< of locks of several, see I6
  bool spoiled_ = false;                                     ///< see I7
  std::optional<Violation> violation_;
};

/// Of a whole history.
std::optional<Violation> check(const History& history);

}  // namespace zklock::simulator
