// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/callback/borrowed_executor.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "zklock/client/port/mutex.h"

namespace zklock::detail {

namespace {

constexpr std::chrono::hours kLongestWait{24 * 365};  // the sum with a time does not overflow

}  // namespace

struct BorrowedExecutor::State {
  explicit State(Executor given) : executor(std::move(given)) {}

  void call(std::function<void()> task) {
    {
      const client::MutexLock guard(mutex);
      if (over) return;
      calls.push_back(std::this_thread::get_id());
    }
    struct Ended {
      State& state;
      ~Ended() {
        const client::MutexLock guard(state.mutex);
        state.calls.erase(std::ranges::find(state.calls, std::this_thread::get_id()));
        state.returned.notify_all();
      }
    } const ended{*this};
    executor(std::move(task));
  }

  const Executor executor;
  client::Mutex mutex;
  client::Condition returned;
  /// The threads that call the executor now.
  std::vector<std::thread::id> calls ZKLOCK_GUARDED_BY(mutex);
  bool over ZKLOCK_GUARDED_BY(mutex) = false;
};

BorrowedExecutor::BorrowedExecutor(Executor executor)
    : state_(executor ? std::make_shared<State>(std::move(executor)) : nullptr) {}

Executor BorrowedExecutor::revocable() const {
  if (!state_) return {};
  return [state = state_](std::function<void()> task) { state->call(std::move(task)); };
}

bool BorrowedExecutor::revoke_within(LeaseClock::duration timeout) const noexcept {
  if (!state_) return true;
  const client::MutexLock guard(state_->mutex);
  state_->over = true;
  const auto me = std::this_thread::get_id();
  const auto all_returned = [this, me]() ZKLOCK_REQUIRES(state_->mutex) {
    return std::ranges::all_of(state_->calls, [me](std::thread::id id) { return id == me; });
  };
  const auto longest = std::min<LeaseClock::duration>(timeout, kLongestWait);
  const auto until = std::chrono::steady_clock::now() + longest;
  return state_->returned.wait_until(state_->mutex, until, all_returned);
}

}  // namespace zklock::detail
