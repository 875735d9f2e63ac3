// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace zklock::testing {

// Loopback TCP ports that are not in use. During its lifetime, no other FreePorts object of any
// process returns them. The ports lie below the ephemeral range, so no outgoing connection takes
// one. Throws std::runtime_error if there are not enough.
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
  std::vector<int> claims_;  // a descriptor per port; closing it frees the port
};

}  // namespace zklock::testing
