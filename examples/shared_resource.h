// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zklock/lease_clock.h>

namespace example {

// One grant to one thread. The holder writes it. The demo reads it, also after the holder's process
// has ended. LeaseClock is one clock for all processes of a machine.
struct Grant {
  enum State : int { none, inside, left, killed };
  std::atomic<int> state{none};  // `left` and `killed` publish the other members
  int process = 0;               // 0, 1, 2: printed as A, B, C
  int thread = 0;                // 1, 2, 3
  int depth = 1;                 // nesting depth of the holder
  std::int64_t token = 0;
  std::int64_t arrival = 0;  // sequence number of the contender's znode
  zklock::LeaseClock::time_point requested;
  zklock::LeaseClock::time_point granted;
  zklock::LeaseClock::time_point released;
};

// A resource for one thread of one process at a time, in memory that the processes share. It does
// not exclude threads: it counts how often two were inside at once.
class SharedResource {
 public:
  static constexpr std::size_t kMaxGrants = 1024;

  // REQUIRES: `contender` is not 0 and differs from that of every other thread.
  Grant& enter(std::uint64_t contender, std::int64_t token) {
    if (holder_.exchange(contender) != 0) ++overlaps;
    if (token <= highest_token_.exchange(token)) ++stale_tokens;
    work_seen_ = work_done;
    const std::size_t index = grant_count.fetch_add(1);
    if (index >= kMaxGrants) throw std::length_error("the log of grants is full");
    grants[index].token = token;
    return grants[index];
  }

  // Enters again in a nested lock, with the token of the first grant.
  void enter_again(std::uint64_t contender, std::int64_t token) {
    if (holder_ != contender) ++overlaps;
    if (highest_token_ != token) ++stale_tokens;
  }

  void leave(std::uint64_t contender, Grant& grant) {
    work_done = work_seen_ + 1;  // loses the work of a thread that was inside meanwhile
    if (!holder_.compare_exchange_strong(contender, 0)) ++overlaps;
    grant.released = zklock::LeaseClock::now();
    grant.state = Grant::left;
  }

  // Leaves for a holder. REQUIRES: its process has ended.
  void bury(Grant& grant) {
    holder_ = 0;
    grant.released = zklock::LeaseClock::now();
    grant.state = Grant::killed;
  }

  std::atomic<int> processes_ready{0};
  std::atomic<bool> start{false};
  std::atomic<int> grant_to_kill{-1};  // index of the grant in which the holder waits to be killed

  std::atomic<int> overlaps{0};
  std::atomic<int> stale_tokens{0};
  std::int64_t work_done = 0;  // deliberately not atomic: the lock protects it
  std::atomic<std::size_t> grant_count{0};
  std::array<Grant, kMaxGrants> grants;

 private:
  std::atomic<std::uint64_t> holder_{0};
  std::atomic<std::int64_t> highest_token_{0};
  std::int64_t work_seen_ = 0;
};

// Maps the resource in the file `fd`. With `create`, makes a new one.
inline SharedResource& map_shared_resource(int fd, bool create) {
  void* memory = MAP_FAILED;
  if (!create || ::ftruncate(fd, sizeof(SharedResource)) == 0) {
    memory = ::mmap(nullptr, sizeof(SharedResource), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  if (memory == MAP_FAILED) {
    throw std::system_error(errno, std::generic_category(), "mapping the shared resource");
  }
  return create ? *new (memory) SharedResource : *static_cast<SharedResource*>(memory);
}

}  // namespace example
