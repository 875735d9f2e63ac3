// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "zklock/client/port/coordinator.h"
#include "zklock/deadline.h"
#include "zklock/engine/client_core.h"
#include "zklock/engine/queue_view.h"
#include "zklock/survey.h"

namespace zklock::detail {

/// The implementation of Survey: a cursor in a tree of znodes.
///
/// Each znode that is entered has a visit. The requests of several visits are sent together, in
/// rounds. A visit that is done waits until all earlier visits are done, so that the locks of a
/// directory stay in order:
///
/// | step     | requests         | reply                             | next                         |
/// |----------|------------------|-----------------------------------|------------------------------|
/// | list     | getChildren of   | ok: contenders, or a lock delay   | describe; done with a lock   |
/// |          | the znode        |                                   | if there is nothing to read  |
/// |          |                  | ok: neither; no_node              | done, without a lock         |
/// |          |                  | no_auth, or another refusal       | done: unreadable             |
/// | describe | those of the     | the last one                      | done, with a lock            |
/// |          | ViewBuilder      | it shows a deleted contender      | list (1)                     |
/// | (both)   |                  | a temporary failure               | same (2)                     |
/// |          |                  | not_connected, closed,            | same; next() throws          |
/// |          |                  | auth_failed                       |                              |
///
/// (1) After kMostLists lists, the contender is left out instead.
///
/// (2) The next round has one request. If the connection breaks kMostBreaks times while only this
/// list is in flight, its reply is taken for the cause, and the znode is unreadable. Otherwise one
/// huge directory could stop every survey. That does not apply to the root: without it, nothing is
/// read, and next() throws at the connection timeout.
///
/// Thread-safety: none.
class SurveyReader {
 public:
  static constexpr std::size_t kMostInFlight = 100;
  /// If the replies of one round are larger than this, the next round has one request.
  static constexpr std::size_t kManyBytes = 2'000'000;
  static constexpr std::size_t kMostOtherChildren = 10;
  static constexpr int kMostLists = 3;
  static constexpr int kMostBreaks = 3;

  /// Throws Error(invalid_path | closed | forked).
  SurveyReader(std::shared_ptr<ClientCore> core, std::string root, const SurveyOptions& options);
  SurveyReader(const SurveyReader&) = delete;
  SurveyReader& operator=(const SurveyReader&) = delete;
  ~SurveyReader();

  SurveyPage next(std::size_t entries, Deadline deadline);
  bool is_complete() const noexcept;
  const std::string& root() const noexcept { return root_; }

 private:
  enum class Step : std::uint8_t { list, describe, done };
  /// A znode on its way from its list to the page.
  struct Visit {
    std::string path;
    std::size_t depth = 0;
    Step step = Step::list;
    int lists = 0;             ///< replies `ok` to its lists
    int breaks = 0;            ///< of the connection, with nothing else in flight
    SurveyedLock lock = {};    ///< except what `view` has
    ViewBuilder view = {};     ///< of the last list
    std::size_t requests = 0;  ///< in the present round

    bool is_lock() const noexcept {
      return !view.queue().contenders.empty() || view.queue().lock_delay;
    }
  };
  /// The children of a znode that are not entered yet.
  struct Directory {
    std::string path;
    std::size_t depth = 0;           ///< of the children
    std::vector<std::string> names;  ///< in descending order; never empty
  };
  bool is_full(std::size_t entries) const noexcept;
  bool is_read() const noexcept { return visits_.empty() && unentered_.empty(); }
  SurveyPage take_page(std::size_t entries);

  /// Sends one round of requests. Returns false if the deadline has passed.
  bool run_round(Deadline deadline);
  /// Returns the requests of the next round, in the order of their visits.
  std::vector<client::Operation> next_round();
  /// Begins the next visit. Returns false if there is none.
  bool enter_next();
  /// Blocks until the rate permits a round. Returns false if the deadline has passed.
  bool wait_for_turn(Deadline deadline) const;
  /// Handles the replies. Returns whether one of them was a temporary failure.
  bool take(std::vector<client::Reply> replies);
  /// Handles one reply. Returns false if it was a temporary failure.
  bool take(Visit& visit, client::Reply& reply, bool was_alone);
  void take_list(Visit& visit, client::Reply& list);
  /// Stores the children that are to be entered, and names some of them in the lock.
  void take_children(Visit& visit, client::Reply& list);
  void take_znode(Visit& visit, const client::Reply& reply) const;
  /// Moves the finished locks to the page.
  void finish();
  [[noreturn]] void fail(Errc code, const std::string& cause) const;
  [[noreturn]] void fail_unreachable() const;

  std::shared_ptr<ClientCore> core_;
  const std::string root_;
  const SurveyOptions options_;
  const std::size_t most_in_flight_;
  const core::Duration per_request_;  ///< least time between two requests

  std::vector<Directory> unentered_;  ///< the deepest last
  std::deque<Visit> visits_;          ///< in order
  SurveyPage page_;                   ///< read, but not returned yet
  std::size_t width_ = 1;             ///< requests in the next round
  core::Instant next_round_at_ = {};
  core::Instant last_success_ = {};  ///< the last round without a temporary failure
};

}  // namespace zklock::detail
