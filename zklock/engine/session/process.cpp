// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/session/process.h"

#include <array>
#include <climits>
#include <ctime>
#include <utility>

#include <pthread.h>
#include <sys/random.h>
#include <unistd.h>

namespace zklock::detail {

namespace {

constinit std::atomic<std::uint64_t> current_id{0};  // 0: not made yet

/// Returns bits that differ from those of other processes but are not secret. Used if the kernel
/// returns no random bits.
std::uint64_t unlikely_twice() noexcept {
  std::timespec t{};
  ::clock_gettime(CLOCK_REALTIME, &t);
  auto bits =
      static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(t.tv_nsec);
  bits ^= static_cast<std::uint64_t>(::getpid()) << 40U;
  return bits;
}

/// Makes async-signal-safe calls only, because it runs in a child before fork() returns there.
std::uint64_t random_id() noexcept {
  std::uint64_t bits = 0;
  if (::getentropy(&bits, sizeof bits) != 0) bits = unlikely_twice();
  return bits == 0 ? 1 : bits;
}

void renew_id() noexcept {
  current_id.store(random_id(), std::memory_order_relaxed);
}

void watch_forks() noexcept {
  static const int kRegistered = ::pthread_atfork(nullptr, nullptr, &renew_id);
  static_cast<void>(kRegistered);
}

std::uint64_t make_process_id() noexcept {
  watch_forks();
  std::uint64_t expected = 0;
  const std::uint64_t request = random_id();
  return current_id.compare_exchange_strong(expected, request) ? request : expected;
}

// Registered when the library is loaded, so that no fork() is missed. process_id() registers it
// too, for objects that are initialised even earlier.
const bool kForksAreWatched = (watch_forks(), true);

}  // namespace

std::uint64_t process_id() noexcept {
  const std::uint64_t id = current_id.load(std::memory_order_relaxed);
  return id != 0 ? id : make_process_id();
}

ProcessIdentity process_identity() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) name.front() = '\0';
  return {process_id(), name.data(), ::getpid()};
}

namespace {

/// An entry of a list that is never destroyed.
struct Retained {
  std::shared_ptr<const void> object;
  Retained* next;
};
std::atomic<Retained*> retained = nullptr;

// Called in a child before fork() returns there.
void count_fork() noexcept {
  fork_count.fetch_add(1, std::memory_order_relaxed);
}

void count_forks() noexcept {
  static const int kRegistered = ::pthread_atfork(nullptr, nullptr, &count_fork);
  static_cast<void>(kRegistered);
}

// Registered when the library is loaded, so that no fork() is missed. The constructor of ForkGuard
// registers it too, for objects that are initialised even earlier.
const bool kForksAreCounted = (count_forks(), true);

}  // namespace

ForkGuard::ForkGuard() noexcept {
  count_forks();
  birth_ = fork_generation();
}

void keep_for_ever(std::shared_ptr<const void> object) noexcept {
  const auto entry = new Retained{std::move(object), nullptr};
  entry->next = retained.exchange(entry);
}

}  // namespace zklock::detail
