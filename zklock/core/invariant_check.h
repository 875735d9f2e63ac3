// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <exception>
#include <utility>

namespace zklock::core {

/// Asserts the invariants of a state machine at the entry and at the exit of an input. An exit by
/// an exception is not checked.
///
/// The machine has the members state(), assert_invariants() and can_follow(before, after). The
/// last one returns whether one input can lead from the state `before` to the state `after`.
template <class Machine>
class InvariantCheck {
 public:
  explicit InvariantCheck(const Machine& machine) noexcept
      : machine_(machine), before_(machine.state()) {
    machine_.assert_invariants();
  }
  InvariantCheck(const InvariantCheck&) = delete;
  InvariantCheck& operator=(const InvariantCheck&) = delete;
  ~InvariantCheck() {
    if (std::uncaught_exceptions() > exceptions_) return;
    machine_.assert_invariants();
    assert(Machine::can_follow(before_, machine_.state()));
  }

 private:
  using State = decltype(std::declval<const Machine&>().state());

  const Machine& machine_;
  [[maybe_unused]] const State before_;
  const int exceptions_ = std::uncaught_exceptions();
};

}  // namespace zklock::core
