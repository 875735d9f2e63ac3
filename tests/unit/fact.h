// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <future>
#include <latch>
#include <memory>
#include <stdexcept>
#include <utility>

namespace zklock::testing {

// A value or event that one thread waits for and another provides. Copies share it. So a task takes
// it by value, and can still use it after the test has continued.
template <class T = void>
class Fact {
 public:
  template <class... Value>
  void is(Value&&... value) const {
    promise_->set_value(std::forward<Value>(value)...);
  }
  void is_known() const { is(); }
  // Blocks until the value is there. Throws std::runtime_error after a minute.
  T get() const {
    if (future_.wait_for(std::chrono::minutes(1)) != std::future_status::ready) {
      throw std::runtime_error("what the test waits for did not happen");
    }
    return future_.get();
  }

 private:
  std::shared_ptr<std::promise<T>> promise_ = std::make_shared<std::promise<T>>();
  std::shared_future<T> future_ = promise_->get_future().share();
};

// A std::latch that tasks take by value, for the reason given at Fact.
class Latch {
 public:
  explicit Latch(std::ptrdiff_t expected) : latch_(std::make_shared<std::latch>(expected)) {}
  void count_down() const { latch_->count_down(); }
  void wait() const { latch_->wait(); }
  void arrive_and_wait() const { latch_->arrive_and_wait(); }

 private:
  std::shared_ptr<std::latch> latch_;
};

}  // namespace zklock::testing
