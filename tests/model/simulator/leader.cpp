// SPDX-License-Identifier: Apache-2.0
#include "tests/model/simulator/leader.h"

#include <chrono>
#include <utility>

#include "tests/model/simulator/users.h"
#include "zklock/recipes/election/candidate.h"

namespace zklock::simulator {

using std::chrono::microseconds;
using std::chrono::milliseconds;

/// Leads for a time, or until the leadership has ended.
class Leader::TestCandidate final : public detail::Candidate {
 public:
  TestCandidate(Users& users, SimProcess& process, const ObjectPlan& plan)
      : Candidate(*process.line(0).core, path_of(plan.path),
                  {.again = true,
                   .until_finished = true,
                   .retry_delay_min = milliseconds(50),
                   .retry_delay_max = milliseconds(1000),
                   .lock_delay = milliseconds(plan.lock_delay)}),
        users_(users),
        process_(process),
        plan_(plan) {}

  void each(Duration length) noexcept { each_ = length; }
  void resign() {
    if (leading_ != nullptr) users_.resigns(*leading_);
    close();
  }

 private:
  void on_began(
      const std::shared_ptr<detail::LeadershipState>& leadership_state) noexcept override {
    after(microseconds(10), [this, leadership_state] { lead(leadership_state); });
  }
  void on_ended(
      const std::shared_ptr<detail::LeadershipState>& /*leadership_state*/) noexcept override {}

  // Does what the thread of a LeaderElection does.
  void lead(const std::shared_ptr<detail::LeadershipState>& leadership_state) {
    if (leadership_state->end_token().stop_requested()) {
      return finished(leadership_state->attempt(), leadership_state->state() == HoldState::lost
                                                       ? core::LeaderEnd::not_run
                                                       : core::LeaderEnd::returned);
    }
    Call& call = users_.begin_leadership(process_, plan_);
    leading_ = &call;
    users_.leads(call, leadership_state->leadership());
    look(leadership_state, call, process_.clock().now() + each_);
  }

  void look(const std::shared_ptr<detail::LeadershipState>& leadership_state, Call& call,
            Instant until) {
    const bool is_over =
        leadership_state->end_token().stop_requested() || process_.clock().now() >= until;
    if (!is_over) {
      return after(milliseconds(50),
                   [this, leadership_state, &call, until] { look(leadership_state, call, until); });
    }
    leading_ = nullptr;
    users_.end_leadership(call);
    finished(leadership_state->attempt(), core::LeaderEnd::returned);
  }

  template <class Task>
  void after(Duration delay, Task task) {
    auto self = std::static_pointer_cast<TestCandidate>(shared_from_this());
    process_.clock().at(process_.clock().now() + delay, [self = std::move(self), task] { task(); });
  }

  Users& users_;
  SimProcess& process_;
  const ObjectPlan plan_;
  Duration each_{};
  Call* leading_ = nullptr;
};

Leader::Leader(Users& users, SimProcess& process, const ObjectPlan& plan)
    : users_(users), process_(process), plan_(plan) {
  if (plan.kind == LockClass::election) {
    candidate_ = std::make_shared<TestCandidate>(users, process, plan);
    return;
  }
  latch_ = std::make_unique<LeaderLatch>(process.client(), path_of(plan.path),
                                         LatchOptions{.lock_delay = milliseconds(plan.lock_delay)});
  subscription_ = latch_->add_listener([this](const Leadership& leadership) { gained(leadership); },
                                       [this](const Leadership&) {
                                         if (Call* const call = std::exchange(leading_, nullptr))
                                           users_.end_leadership(*call);
                                       });
}

Leader::~Leader() {
  if (process_.dead()) return;
  resign();
}

void Leader::gained(const Leadership& leadership) {
  leading_ = &users_.begin_leadership(process_, plan_);
  users_.leads(*leading_, leadership);
}

void Leader::lead(Duration each) {
  if (latch_) latch_->start();
  if (!candidate_) return;
  candidate_->each(each);
  candidate_->contend();
}

void Leader::resign() {
  if (candidate_) candidate_->resign();
  if (!latch_) return;
  if (Call* const call = std::exchange(leading_, nullptr)) users_.end_leadership(*call);
  latch_->close();
}

}  // namespace zklock::simulator
