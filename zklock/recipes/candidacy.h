// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <boost/thread/condition_variable.hpp>
#include <boost/thread/mutex.hpp>

#include "zklock/client/backoff.h"
#include "zklock/core/leadership.h"
#include "zklock/deadline.h"
#include "zklock/error.h"
#include "zklock/participant.h"
#include "zklock/recipes/lock_engine.h"
#include "zklock/recipes/tenure.h"

namespace zklock::recipes {

/// One candidate at one path: contends on the path's lock engine, as core::LeadershipFsm says, and
/// keeps the leadership that comes of it. What leading means is the business of derived classes.
///
/// Thread-safety: all members, from any thread; to be made by std::make_shared.
class Candidacy : public std::enable_shared_from_this<Candidacy> {
 public:
  struct Settings {
    bool again = true;            ///< contends again by itself after a leadership
    bool until_finished = false;  ///< a leadership is over when finished() says so; else when told
    std::chrono::milliseconds retry_delay_min{};
    std::chrono::milliseconds retry_delay_max{};
    std::chrono::milliseconds lock_delay{};
  };

  /// Throws Error(invalid_path | invalid_option | closed | forked).
  Candidacy(const std::shared_ptr<ClientCore>& core, std::string path, Settings settings);
  Candidacy(const Candidacy&) = delete;
  Candidacy& operator=(const Candidacy&) = delete;
  virtual ~Candidacy();

  /// Contends, unless it does, or leads; then it will afterwards. False when that was so already.
  /// Throws Error(closed | forked).
  bool want();
  void interrupt();
  void withdraw();
  /// Whoever led has returned; `failed` makes it wait a little before it contends again.
  void finished(Tenure::Number number, bool failed);
  void had_no_turn(Tenure::Number number);
  /// Nothing is begun any more. A leadership that goes on `until_finished` does.
  void close();

  /// As LeaderLatch::await().
  bool await(Deadline deadline, const std::stop_token& stop);
  bool leads() const;
  /// The present one; null when there is none.
  std::shared_ptr<Tenure> tenure() const;
  bool wants() const;
  /// Why it contends no more.
  std::optional<Error> error() const;
  std::vector<Participant> participants(Deadline deadline) const;
  std::optional<Participant> leader(Deadline deadline) const;

  ClientCore& core() const noexcept { return engine_->core(); }
  const std::string& path() const noexcept { return engine_->path().str(); }
  void warn(const std::string& text) const noexcept;

 protected:
  /// Holds the mutex; on its end runs what was put into the outbox, with the mutex released.
  class Section {
   public:
    explicit Section(Candidacy& candidacy) : candidacy_(candidacy), lock_(candidacy.mutex_) {}
    ~Section();
    Section(const Section&) = delete;
    Section& operator=(const Section&) = delete;

   private:
    Candidacy& candidacy_;
    boost::unique_lock<boost::mutex> lock_;
  };

  /// Within a Section: a leadership begins; it is over. They do not block, and run no user code.
  virtual void began(const std::shared_ptr<Tenure>& tenure) noexcept = 0;
  virtual void ended(const std::shared_ptr<Tenure>& tenure) noexcept = 0;

  /// Within a Section.
  const std::shared_ptr<Tenure>& present() const noexcept { return tenure_; }
  bool is_closed() const noexcept;

 private:
  using Fsm = core::LeadershipFsm;
  /// Who ends a leadership, and so on which thread the user's stop callbacks run.
  enum class By { caller, loss };

  void run(const core::LeadershipEffects& effects, By by = By::caller);
  void carry_out(core::LeadershipEffect effect, By by);
  void later(std::function<void()> task) { outbox_.push_back(std::move(task)); }
  void ask(Fsm::Attempt attempt, const std::stop_token& stop);
  void answered(Fsm::Attempt attempt, const Outcome& outcome);
  void begin(const std::shared_ptr<Contender>& leader, Hold hold);
  void end(By by);
  void pause();
  void lost(Tenure::Number number);
  std::optional<Error> reason() const;

  const std::shared_ptr<LockEngine> engine_;
  const Settings settings_;

  mutable boost::mutex mutex_;
  // guarded by mutex_
  boost::condition_variable changed_;
  Fsm fsm_;
  client::Backoff backoff_;
  std::stop_source asking_;  ///< of the present attempt
  std::shared_ptr<Tenure> tenure_;
  std::optional<Error> error_;
  std::vector<std::function<void()>> outbox_;
};

}  // namespace zklock::recipes
