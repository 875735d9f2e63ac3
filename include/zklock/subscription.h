// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zklock/version.h"

#include <functional>
#include <utility>

namespace zklock {

/// Keeps a listener registered. The destructor and cancel() remove the listener. They block until a
/// running call of the listener returns, unless the listener itself calls them. A Subscription may
/// outlive the object that returned it.
///
/// Thread-safety: any thread may use an object, but not several threads at the same time.
class [[nodiscard]] Subscription {
 public:
  Subscription() noexcept = default;
  /// Creates an object that calls `cancel` once. Users need not call this: the functions that add a
  /// listener return an object.
  explicit Subscription(std::function<void()> cancel) noexcept : cancel_(std::move(cancel)) {}
  Subscription(Subscription&& other) noexcept : cancel_(std::exchange(other.cancel_, nullptr)) {}
  Subscription& operator=(Subscription&& other) noexcept {
    if (this != &other) {
      cancel();
      cancel_ = std::exchange(other.cancel_, nullptr);
    }
    return *this;
  }
  ~Subscription() { cancel(); }
  /// Removes the listener now.
  void cancel() noexcept {
    if (auto f = std::exchange(cancel_, nullptr)) f();
  }

 private:
  std::function<void()> cancel_;
};

}  // namespace zklock
