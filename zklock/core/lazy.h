// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <memory>
#include <utility>

namespace zklock::core {

/// A T that most of its owners never need. It is T{} until the first write, which allocates it.
///
/// Thread-safety: as T.
template <class T>
class Lazy {
 public:
  Lazy() noexcept = default;
  Lazy(T value) requires std::equality_comparable<T>  // NOLINT(google-explicit-constructor)
      : value_(value == T{} ? nullptr : std::make_unique<T>(std::move(value))) {}
  Lazy(const Lazy& other) : value_(other.value_ ? std::make_unique<T>(*other) : nullptr) {}
  Lazy(Lazy&&) noexcept = default;
  Lazy& operator=(Lazy other) noexcept {
    value_ = std::move(other.value_);
    return *this;
  }
  ~Lazy() = default;

  const T& operator*() const noexcept {
    static const T& none = *new T{};  // never destroyed: static objects may contain a Lazy
    return value_ ? *value_ : none;
  }
  /// Returns whether it has a value of its own: one other than T{}, or one made by write().
  explicit operator bool() const noexcept { return value_ != nullptr; }
  const T* operator->() const noexcept { return &**this; }
  T& write() {
    if (!value_) value_ = std::make_unique<T>();
    return *value_;
  }
  friend bool operator==(const Lazy& a, const Lazy& b) requires std::equality_comparable<T> {
    return *a == *b;
  }
  void reset() noexcept { value_.reset(); }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace zklock::core
