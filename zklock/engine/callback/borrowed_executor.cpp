// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/callback/borrowed_executor.h"

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace zklock::detail {

struct BorrowedExecutor::State {
  explicit State(Executor given) : executor(std::move(given)) {}

  void call(std::function<void()> task) {
    {
      const std::lock_guard guard(mutex);
      if (over) return;
      calls.push_back(std::this_thread::get_id());
    }
    struct Ended {
      State& state;
      ~Ended() {
        const std::lock_guard guard(state.mutex);
        state.calls.erase(std::ranges::find(state.calls, std::this_thread::get_id()));
        state.returned.notify_all();
      }
    } const ended{*this};
    executor(std::move(task));
  }

  const Executor executor;
  std::mutex mutex;
  // guarded by mutex
  std::condition_variable returned;
  std::vector<std::thread::id> calls;  ///< threads that call the executor now
  bool over = false;
};

BorrowedExecutor::BorrowedExecutor(Executor executor)
    : state_(executor ? std::make_shared<State>(std::move(executor)) : nullptr) {}

Executor BorrowedExecutor::lent() const {
  if (!state_) return {};
  return [state = state_](std::function<void()> task) { state->call(std::move(task)); };
}

bool BorrowedExecutor::give_back_for(LeaseClock::duration patience) const noexcept {
  if (!state_) return true;
  std::unique_lock lock(state_->mutex);
  state_->over = true;
  const auto all_returned = [this, me = std::this_thread::get_id()] {
    return std::ranges::all_of(state_->calls, [me](std::thread::id id) { return id == me; });
  };
  if (patience != LeaseClock::duration::max())
    return state_->returned.wait_for(lock, patience, all_returned);
  state_->returned.wait(lock, all_returned);
  return true;
}

}  // namespace zklock::detail
