// SPDX-License-Identifier: Apache-2.0
#include "zklock/leader_latch.h"

#include <memory>
#include <optional>
#include <utility>

#include "zklock/recipes/borrowed_executor.h"
#include "zklock/recipes/candidacy.h"
#include "zklock/recipes/fork_guard.h"
#include "zklock/recipes/listeners.h"

namespace zklock {

namespace recipes {

namespace {

/// The event that a leadership began or ended.
struct LeadershipNews {
  std::shared_ptr<Tenure> tenure;
  bool gained;
};

/// Returns whether `next` is the end of a leadership whose beginning was delivered. In the queue,
/// the end follows the beginning directly.
bool is_an_end_to_hear_of(const std::optional<LeadershipNews>& told, const LeadershipNews& next) {
  return told && told->gained && !next.gained;
}

}  // namespace

/// A candidate that notifies listeners of its leaderships.
class LatchCandidacy final : public Candidacy {
 public:
  LatchCandidacy(const std::shared_ptr<ClientCore>& core, std::string path, LatchOptions options)
      : Candidacy(core, std::move(path),
                  {.again = true,
                   .until_finished = false,
                   .retry_delay_min = options.retry_delay_min,
                   .retry_delay_max = options.retry_delay_max,
                   .lock_delay = options.lock_delay}),
        executor_(std::move(options.executor)),
        listeners_(core->listeners_dispatcher(executor_.lent())) {}

  Subscription add_listener(LeaderLatch::Listener gained, LeaderLatch::Listener lost) {
    core().check_usable("add a listener", path());
    const Section section(*this);
    if (is_closed()) throw Error(Errc::closed, "add a listener", path(), "it was closed");
    const auto& tenure = present();
    const auto missed = tenure ? std::optional(LeadershipNews{tenure, true}) : std::nullopt;
    return listeners_.add(
        [gained = std::move(gained), lost = std::move(lost)](const LeadershipNews& news) {
          const LeaderLatch::Listener& call = news.gained ? gained : lost;
          if (call) call(news.tenure->leadership());
        },
        missed);
  }

  void close_with(CloseMode mode) {
    if (mode == CloseMode::silent) {
      const Section section(*this);
      if (!is_closed()) listeners_.fall_silent();
    }
    close();
    {
      const Section section(*this);
      listeners_.fall_silent(is_an_end_to_hear_of);
    }
    listeners_.wait();
  }
  /// Called when the public object is destroyed. After it returns, no listener is called: what the
  /// listeners refer to may be destroyed then.
  void finish_listeners() {
    listeners_.finish([this] { warn("an exception left a listener"); });
    executor_.give_back();
  }

 private:
  void began(const std::shared_ptr<Tenure>& tenure) noexcept override {
    listeners_.tell({tenure, true});
  }
  void ended(const std::shared_ptr<Tenure>& tenure) noexcept override {
    listeners_.tell({tenure, false});
  }

  const BorrowedExecutor executor_;
  Listeners<LeadershipNews> listeners_;
};

}  // namespace recipes

LeaderLatch::LeaderLatch(Client& client, std::string path, LatchOptions options)
    : candidacy_(std::make_shared<recipes::LatchCandidacy>(recipes::ClientCore::of(client),
                                                           std::move(path), std::move(options))) {}

LeaderLatch::~LeaderLatch() {
  if (candidacy_->core().forked()) {
    recipes::keep_for_ever(std::move(candidacy_));
    return;
  }
  close();
  candidacy_->finish_listeners();
}

void LeaderLatch::start() {
  candidacy_->want();
}

bool LeaderLatch::await(Deadline deadline, std::stop_token stop) {
  const auto candidacy = candidacy_;  // another thread may destroy this object meanwhile
  return candidacy->await(deadline, stop);
}

bool LeaderLatch::has_leadership() const noexcept {
  return candidacy_->leads();
}

Leadership LeaderLatch::leadership() const {
  const auto tenure = candidacy_->tenure();
  return tenure ? tenure->leadership() : Leadership();
}

std::optional<Participant> LeaderLatch::leader(Deadline deadline) const {
  return candidacy_->leader(deadline);
}

std::vector<Participant> LeaderLatch::participants(Deadline deadline) const {
  return candidacy_->participants(deadline);
}

std::optional<Error> LeaderLatch::error() const {
  return candidacy_->error();
}

Subscription LeaderLatch::add_listener(Listener gained, Listener lost) {
  return candidacy_->add_listener(std::move(gained), std::move(lost));
}

void LeaderLatch::close(CloseMode mode) noexcept {
  const auto candidacy = candidacy_;  // a listener may destroy this object meanwhile
  if (!candidacy->core().forked()) candidacy->close_with(mode);
}

const std::string& LeaderLatch::path() const noexcept {
  return candidacy_->path();
}

}  // namespace zklock
