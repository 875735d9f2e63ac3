// SPDX-License-Identifier: Apache-2.0
#include "zklock/leader_latch.h"

#include <functional>
#include <utility>

#include "zklock/engine/callback/borrowed_executor.h"
#include "zklock/engine/callback/listeners.h"
#include "zklock/engine/client_core.h"
#include "zklock/engine/session/process.h"
#include "zklock/recipes/election/candidate.h"

namespace zklock {

namespace detail {

namespace {

/// The event that a leadership began or ended.
struct LeadershipUpdate {
  std::shared_ptr<LeadershipState> leadership_state;
  bool gained;
};

/// Returns whether `next` is the end of a leadership whose beginning was delivered. In the queue,
/// the end follows the beginning directly.
bool ends_delivered_leadership(const std::optional<LeadershipUpdate>& delivered,
                               const LeadershipUpdate& next) {
  return delivered && delivered->gained && !next.gained;
}

}  // namespace

/// A candidate that notifies listeners of its leaderships.
class LatchCandidate final : public Candidate {
 public:
  LatchCandidate(ClientCore& core, std::string path, LatchOptions options)
      : Candidate(core, std::move(path),
                  {.again = true,
                   .until_finished = false,
                   .retry_delay_min = options.retry_delay_min,
                   .retry_delay_max = options.retry_delay_max,
                   .lock_delay = options.lock_delay,
                   .label = options.label,
                   .note = options.note}),
        executor_(std::move(options.executor)),
        listeners_(core.shared_listener_dispatcher(executor_.revocable())) {}

  Subscription add_listener(LeaderLatch::Listener gained, LeaderLatch::Listener lost) {
    context().check_usable("add a listener", path());
    std::function<void(const LeadershipUpdate&)> listener =
        [gained = std::move(gained), lost = std::move(lost)](const LeadershipUpdate& update) {
          const LeaderLatch::Listener& call = update.gained ? gained : lost;
          if (call) call(update.leadership_state->leadership());
        };
    {
      const EngineLock lock(entry());
      const auto& leadership_state = current();
      const auto missed =
          leadership_state ? std::optional(LeadershipUpdate{leadership_state, true}) : std::nullopt;
      if (!is_closed()) return listeners_.add(std::move(listener), missed);
    }
    throw Error(Errc::closed, "add a listener", path(), "the LeaderLatch was closed");
  }

  void close_with(CloseMode mode) {
    if (mode == CloseMode::silent && !was_closed()) listeners_.stop();
    close();
    listeners_.stop(ends_delivered_leadership);
    listeners_.wait();
  }
  /// Called when the public object is destroyed. After it returns, no listener is called: what the
  /// listeners refer to may be destroyed then.
  void finish_listeners() {
    listeners_.finish([this] { warn("a listener threw an exception"); });
    executor_.revoke();
  }

 private:
  bool was_closed() const {
    const EngineLock lock(entry());
    return is_closed();
  }
  void on_began(const std::shared_ptr<LeadershipState>& leadership_state) noexcept override {
    listeners_.notify({leadership_state, true});
  }
  void on_ended(const std::shared_ptr<LeadershipState>& leadership_state) noexcept override {
    listeners_.notify({leadership_state, false});
  }

  const BorrowedExecutor executor_;
  Listeners<LeadershipUpdate> listeners_;
};

}  // namespace detail

LeaderLatch::LeaderLatch(Client& client, std::string path, LatchOptions options)
    : candidate_(std::make_shared<detail::LatchCandidate>(*detail::ClientCore::of(client),
                                                          std::move(path), std::move(options))) {}

LeaderLatch::~LeaderLatch() {
  if (candidate_->context().forked()) {
    detail::keep_for_ever(std::move(candidate_));
    return;
  }
  close();
  candidate_->finish_listeners();
}

void LeaderLatch::start() {
  candidate_->contend();
}

bool LeaderLatch::wait_until_leader(Deadline deadline, std::stop_token stop) {
  const auto candidate = candidate_;  // another thread may destroy this object meanwhile
  return candidate->wait_until_leader(deadline, stop);
}

bool LeaderLatch::has_leadership() const noexcept {
  return candidate_->leads();
}

Leadership LeaderLatch::leadership() const {
  const auto leadership_state = candidate_->leadership_state();
  return leadership_state ? leadership_state->leadership() : Leadership();
}

std::optional<Participant> LeaderLatch::leader(Deadline deadline) const {
  return candidate_->leader(deadline);
}

std::vector<Participant> LeaderLatch::participants(Deadline deadline) const {
  return candidate_->participants(deadline);
}

std::optional<Error> LeaderLatch::error() const {
  return candidate_->error();
}

Subscription LeaderLatch::add_listener(Listener gained, Listener lost) {
  return candidate_->add_listener(std::move(gained), std::move(lost));
}

void LeaderLatch::close(CloseMode mode) noexcept {
  const auto candidate = candidate_;  // a listener may destroy this object meanwhile
  if (!candidate->context().forked()) candidate->close_with(mode);
}

const std::string& LeaderLatch::path() const noexcept {
  return candidate_->path();
}

}  // namespace zklock
