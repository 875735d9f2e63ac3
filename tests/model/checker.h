// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tests/model/history.h"

namespace zklock::model {

struct Violation {
  std::string invariant;  ///< for example "I1"
  std::string text;
  Instant at;
};

/// Reads a history once, in order, and finds the first violation of these invariants:
///
/// | name  | invariant                                                                            |
/// |-------|--------------------------------------------------------------------------------------|
/// | I1    | One at a time of the holds that exclude each other says `held`. The permits held     |
/// |       | are at most the highest number that applied since the call began. A hold is exempt   |
/// |       | after its lock znode was deleted by hand. It must say `lost` in the end, but can be  |
/// |       | late.                                                                                |
/// | I2    | The token of a grant is above the tokens of all earlier grants that exclude it, and  |
/// |       | has one owner. The holders and values that an observer receives never go back.       |
/// | I3    | The count of an owner equals the number of its holds while they are held. Afterwards |
/// |       | it is 0.                                                                             |
/// | I4    | A loss is notified once, and before the grant of another contender. A lost hold      |
/// |       | stays lost.                                                                          |
/// | I5    | A resource accepts no token below an accepted one. It does not refuse a holder. A    |
/// |       | guarded write is executed only while the lock znode exists. Its caller gets the true |
/// |       | outcome. An observer receives only values that the leader has proclaimed.            |
/// | I6    | No contender is granted while a contender that is ahead of it and excludes it has a  |
/// |       | znode. Permits: the contenders ahead leave enough of them. Ahead means: its znode is |
/// |       | older. Exception: the znode is a mutex's, and all its holds were released. Then      |
/// |       | contenders of its session do not wait for it. After the grant of one of them, no     |
/// |       | contender does. Two kinds of grants are not recorded: those whose call has just      |
/// |       | ended, and partial holds of a composite lock. So a znode without a recorded grant    |
/// |       | counts as granted and released. If it is granted later, I2 finds the falling token.  |
/// | I7    | An attempt has one znode. No client deletes a znode of another session. Exception:   |
/// |       | the znodes of a path were deleted by hand, and the path was recreated. A release     |
/// |       | that was sent on a connection older than the new znode of that name can delete it.   |
/// |       | From then on I1, I2, I4, I5 and I6 are not checked.                                  |
/// | I8    | At rest, nothing is left.                                                            |
/// | I9    | Every call ends once, by its deadline. After the last fault it ends soon.            |
/// | I10   | At rest, each hold that the metrics of a client counted as begun is counted as ended |
/// |       | once, and each loss has one reason.                                                  |
class Checker {
 public:
  void see(const Event& event);
  /// Returns the first violation, if there is one.
  const std::optional<Violation>& violation() const noexcept { return violation_; }

 private:
  struct Held {
    Event grant;
    Instant last_held;
    bool open = true;  ///< neither released nor lost
    bool said_lost = false;
    bool released = false;
    bool given_back = false;  ///< released while it was held
    bool taken = false;
    int notified = 0;
    std::size_t compared = 0;  ///< how many of Resource::grants said_held() has seen
  };
  struct Call {
    Event wanted;
    int ends = 0;
    bool granted = false;
  };
  struct Sight {
    FencingToken highest;  ///< highest token ever reported
    bool holds = false;    ///< a holder is reported now
    std::int64_t number = 0;
  };
  struct Contender {
    Event made;
    bool succeeded = false;  ///< a contender of its session was granted
  };
  struct Resource {
    FencingToken highest;            ///< highest granted
    FencingToken highest_exclusive;  ///< highest granted exclusively
    std::map<FencingToken, std::uint64_t> owners;
    std::vector<std::uint32_t> grants;                      ///< holds, in the order of their grants
    std::vector<std::uint32_t> open;                        ///< holds
    std::vector<Contender> queue;                           ///< existing znodes
    std::vector<std::pair<Instant, std::int64_t>> numbers;  ///< permits
    FencingToken highest_written;
  };

  void granted(const Event& event);
  void check_exclusion(const Event& event, Resource& resource);
  void check_token(const Event& event, Resource& resource);
  void check_queue(const Event& event, Resource& resource);
  /// Returns whether `next` can be granted before the znode of `contender` is deleted.
  static bool may_succeed(const Contender& next, const Contender& contender);
  static bool is_of(const Held& held, const Contender& contender);
  bool was_granted(const Contender& contender) const;
  /// Returns whether all recorded holds of the contender's znode were released. It still exists.
  bool was_let_go(const Contender& contender) const;
  void said_held(const Event& event);
  void said_lost(const Event& event);
  void notified(const Event& event);
  void counted(const Event& event);
  void made(const Event& event);
  void deleted(const Event& event);
  void written(const Event& event);
  void committed(const Event& event);
  void seen(const Event& event);
  void ended(const Event& event);
  void rest(const Event& event);
  void close(Held& held);
  std::int64_t most_permits(const Resource& resource, Instant since) const;
  void report(const Event& event, const char* invariant, std::string text);

  std::unordered_map<std::uint32_t, Resource> resources_;
  std::unordered_map<std::uint32_t, Held> holds_;
  std::unordered_map<std::uint32_t, Call> calls_;
  std::unordered_map<std::uint32_t, FencingToken> commits_;  ///< that were executed
  std::unordered_map<std::uint32_t, Sight> sights_;          ///< key: the observer
  bool spoiled_ = false;                                     ///< see I7
  bool reads_can_be_refused_ = false;                        ///< a fault does that
  std::optional<Violation> violation_;
};

/// Checks a whole history.
std::optional<Violation> check(const History& history);

}  // namespace zklock::model
