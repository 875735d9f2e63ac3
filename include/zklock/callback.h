// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zklock/version.h"

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace zklock {

/// The handler of an asynchronous call. A std::function that also accepts a callable that can only
/// be moved, for example a lambda that captures a std::unique_ptr. Copies of the Callback share a
/// callable of this kind. The last copy destroys it.
///
/// Thread-safety: none. Copies that share a callable must not be called by several threads at once.
template <class... Arguments>
class Callback : public std::function<void(Arguments...)> {
  using Function = std::function<void(Arguments...)>;

 public:
  Callback() noexcept = default;
  /// Creates an empty Callback.
  Callback(std::nullptr_t) noexcept {}  // NOLINT(google-explicit-constructor)
  /// Wraps a callable, even one that can only be moved.
  template <class Callable>
  requires(!std::same_as<std::remove_cvref_t<Callable>, Callback> &&
           std::invocable<std::decay_t<Callable>&, Arguments...>)
      Callback(Callable&& callable)  // NOLINT(google-explicit-constructor)
      : Function(copyable(std::forward<Callable>(callable))) {}

 private:
  template <class Callable>
  static auto copyable(Callable&& callable) {
    using Kept = std::decay_t<Callable>;
    if constexpr (std::is_copy_constructible_v<Kept>) {
      return Kept(std::forward<Callable>(callable));
    } else {
      return [kept = std::make_shared<Kept>(std::forward<Callable>(callable))](
                 Arguments... arguments) {
        std::invoke(*kept, std::forward<Arguments>(arguments)...);
      };
    }
  }
};

}  // namespace zklock
