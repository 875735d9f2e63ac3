// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/callback/reliable_post.h"

#include <chrono>
#include <system_error>
#include <utility>

namespace zklock::detail {

namespace {

/// The delay before a task is posted again, after there was no thread for it.
constexpr std::chrono::milliseconds kPauseBetweenPosts{50};

thread_local int running_here = 0;

}  // namespace

void ReliablePost::send(std::shared_ptr<EngineContext> core, client::Dispatcher& dispatcher,
                        std::string what, std::function<void()> task) {
  std::make_shared<ReliablePost>(std::move(core), dispatcher, std::move(what), std::move(task))
      ->post();
}

ReliablePost::ReliablePost(std::shared_ptr<EngineContext> core, client::Dispatcher& dispatcher,
                           std::string what, std::function<void()> task)
    : core_(std::move(core)),
      dispatcher_(dispatcher),
      what_(std::move(what)),
      task_(std::move(task)) {}

ReliablePost::~ReliablePost() {
  if (taken_) return;
  ++running_here;
  try {
    run();
  } catch (...) {
    core_->warn("a callback threw an exception");
  }
  --running_here;
  end_waiting();
}

bool ReliablePost::runs_here() noexcept {
  return running_here > 0;
}

void ReliablePost::post() noexcept {
  try {
    taken_ = true;
    taken_ = dispatcher_.post([self = shared_from_this()] { self->run(); });
    if (taken_) end_waiting();
    return;
  } catch (const std::system_error& e) {  // no thread
    taken_ = false;
    warn(e.what());
  }
  try {
    wait_for_thread();
    core_->scheduler().at(core_->scheduler().now() + kPauseBetweenPosts,
                          [self = shared_from_this()] { self->post(); });
  } catch (const std::system_error&) {  // no timer: the destructor runs the task on this thread
  }
}

void ReliablePost::wait_for_thread() {
  const bool is_loss = &dispatcher_ == &core_->losses();
  if (is_loss && !unnotified_) unnotified_ = core_->unnotified_losses().begin();
}

void ReliablePost::end_waiting() noexcept {
  if (unnotified_) core_->unnotified_losses().end(*std::exchange(unnotified_, std::nullopt));
}

void ReliablePost::warn(const char* why) noexcept {
  if (!what_.empty()) core_->warn(std::exchange(what_, "") + ": " + why);
}

void ReliablePost::run() {
  const auto task = std::exchange(task_, nullptr);
  if (task && !core_->forked()) task();
}

}  // namespace zklock::detail
