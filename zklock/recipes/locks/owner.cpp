// SPDX-License-Identifier: Apache-2.0
#include "zklock/owner.h"

#include <atomic>
#include <charconv>
#include <cstddef>
#include <iterator>

#include "zklock/core/znode_data.h"
#include "zklock/engine/session/process.h"

namespace zklock {
namespace {

/// So that a znode shows the whole text of the owner, which is cut to core::kMaxValueBytes.
constexpr std::size_t kMaxOwnerNameBytes = 24;

constinit std::atomic<std::uint64_t> last_serial{0};

std::uint64_t next_serial() noexcept {
  return last_serial.fetch_add(1, std::memory_order_relaxed) + 1;
}

// 0: not assigned yet. It has no destructor, so it keeps its value while the thread's other objects
// are destroyed, in any order.
constinit thread_local std::uint64_t thread_serial = 0;

}  // namespace

Owner Owner::this_thread() noexcept {
  if (thread_serial == 0) thread_serial = next_serial();
  // In a fork()ed child the serial continues, but the process differs.
  return {detail::process_id(), thread_serial};
}

Owner Owner::unique() noexcept {
  return {detail::process_id(), next_serial()};
}

Owner Owner::unique(std::string_view name) {
  if (name.empty()) return unique();
  return {detail::process_id(), next_serial(),
          std::make_shared<const std::string>(core::printable(name, kMaxOwnerNameBytes))};
}

std::string Owner::to_string() const {
  char digits[16];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), process_, 16).ptr;
  std::string text(static_cast<std::size_t>(std::end(digits) - end), '0');
  text.append(std::begin(digits), end) += '-';
  text += std::to_string(serial_);
  if (name_) text.append(1, ' ').append(*name_);
  return text;
}

}  // namespace zklock
