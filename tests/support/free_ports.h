// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace zklock::testing {

// Loopback TCP ports that nobody else uses and that no other FreePorts object, in this process or
// another, hands out while this one lives. They lie below the ephemeral range, so that an outgoing
// connection cannot take one either. Throws std::runtime_error when there are not enough.
class FreePorts {
 public:
  explicit FreePorts(std::size_t count);
  ~FreePorts();
  FreePorts(const FreePorts&) = delete;
  FreePorts& operator=(const FreePorts&) = delete;

  std::size_t size() const noexcept { return ports_.size(); }
  std::uint16_t operator[](std::size_t index) const { return ports_.at(index); }
  const std::vector<std::uint16_t>& all() const noexcept { return ports_; }

 private:
  void release() noexcept;

  std::vector<std::uint16_t> ports_;
  std::vector<int> claims_;  // one open descriptor per port; closing it gives the port back
};

}  // namespace zklock::testing
