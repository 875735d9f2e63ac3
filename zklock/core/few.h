// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "zklock/core/lazy.h"

namespace zklock::core {

/// A small vector that stores a single element in itself, because it usually has one. A moved-from
/// Few may only be assigned to or destroyed.
///
/// Thread-safety: as std::vector.
template <class T>
class Few {
 public:
  using value_type = T;
  using const_iterator = const T*;
  static_assert(std::is_nothrow_move_constructible_v<T>);

  Few() noexcept = default;
  explicit Few(std::vector<T> all) {
    if (all.size() == 1) {
      all_.template emplace<T>(std::move(all.front()));
    } else {
      all_ = Many(std::move(all));
    }
  }

  std::size_t size() const noexcept { return only() ? 1 : many().size(); }
  bool empty() const noexcept { return size() == 0; }
  const T* begin() const noexcept { return only() ? only() : many().data(); }
  const T* end() const noexcept { return begin() + size(); }
  T* begin() noexcept { return const_cast<T*>(std::as_const(*this).begin()); }
  T* end() noexcept { return begin() + size(); }
  T& front() noexcept { return *begin(); }
  const T& operator[](std::size_t at) const noexcept { return begin()[at]; }

  void push_back(T value) {
    if (empty()) {
      all_.template emplace<T>(std::move(value));
      return;
    }
    if (T* const first = std::get_if<T>(&all_)) {
      Many both;
      both.write().reserve(2);
      both.write().push_back(std::move(*first));
      all_ = std::move(both);
    }
    std::get<Many>(all_).write().push_back(std::move(value));
  }
  void erase(T* which) {
    if (only()) return clear();
    std::vector<T>& many = std::get<Many>(all_).write();
    many.erase(many.begin() + (which - many.data()));
  }
  void clear() noexcept { all_ = Many(); }

 private:
  using Many = Lazy<std::vector<T>>;  ///< several elements, or none; after erase() perhaps one

  const T* only() const noexcept { return std::get_if<T>(&all_); }
  const std::vector<T>& many() const noexcept { return **std::get_if<Many>(&all_); }

  std::variant<Many, T> all_;
};

}  // namespace zklock::core
