// SPDX-License-Identifier: Apache-2.0
#include "budget/meter.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>

#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <zookeeper/zookeeper.h>

// Set by the linker: the bounds of the code of the executable.
extern "C" const char __executable_start;
extern "C" const char etext;

namespace zklock::testing {
namespace {

constexpr std::size_t kMostStacks = 1000;

/// A counter, and the stacks of what it has counted.
struct Tally {
  std::atomic<int> count{0};
  std::array<Meter::Stack, kMostStacks> stacks;

  std::vector<Meter::Stack> recorded() const {
    return {stacks.begin(), stacks.begin() + count.load()};
  }
};

constinit std::atomic<bool> is_on{false};
constinit std::atomic<bool> records{false};
Tally mutexes;
Tally allocations;
Tally requests;
std::array<const char*, kMostStacks> request_functions;
constinit thread_local bool is_recording = false;

void count(Tally& tally, bool with_stack, const char* function = nullptr) {
  if (!is_on.load() || is_recording) return;
  const auto index = static_cast<std::size_t>(tally.count.fetch_add(1));
  if (index >= kMostStacks) std::abort();
  if (function != nullptr) request_functions[index] = function;
  if (!with_stack) return;
  is_recording = true;  // backtrace() can allocate
  Meter::Stack& stack = tally.stacks[index];
  const int size = ::backtrace(stack.frames.data(), Meter::kMostFrames);
  stack.size = static_cast<std::size_t>(size);
  is_recording = false;
}

void count_mutex(const void* caller) {
  const auto* const address = static_cast<const char*>(caller);
  if (address >= &__executable_start && address < &etext) count(mutexes, records.load());
}

void count_request(const char* function) {
  count(requests, true, function);
}

void* allocate(std::size_t size, std::size_t alignment = 0) {
  count(allocations, records.load());
  if (size == 0) size = 1;
  void* const memory =
      alignment == 0
          ? std::malloc(size)
          : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

/// The function that a function of this file replaces.
template <class Function>
class Replaced {
 public:
  explicit constexpr Replaced(const char* name) noexcept : name_(name) {}

  template <class... Args>
  auto operator()(Args... args) noexcept {
    // Not a static local variable: its initialization could lock a mutex.
    auto* function = function_.load();
    if (function == nullptr) {
      function = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name_));
      if (function == nullptr) std::abort();
      function_.store(function);
    }
    return function(args...);
  }

 private:
  const char* const name_;
  std::atomic<Function*> function_{nullptr};
};

int locked(int code, const void* caller) {
  if (code == 0) count_mutex(caller);
  return code;
}

}  // namespace

std::string Meter::Counts::request_names() const {
  std::string names;
  for (const Request& request : requests) {
    names += (names.empty() ? "" : " ") + std::string(request.function);
  }
  return names;
}

const Meter::Request* Meter::Counts::find(const char* function, const char* other) const {
  for (const Request& request : requests) {
    const char* const name = request.function;
    if (std::strcmp(name, function) == 0 || std::strcmp(name, other) == 0) return &request;
  }
  return nullptr;
}

void Meter::start(bool records_stacks) {
  mutexes.count = 0;
  allocations.count = 0;
  requests.count = 0;
  records = records_stacks;
  is_on = true;
}

Meter::Counts Meter::stop() {
  constexpr std::chrono::milliseconds kQuiet{30};
  int before = -1;
  for (int now = 0; now != before;) {
    before = now;
    std::this_thread::sleep_for(kQuiet);
    now = mutexes.count + allocations.count + requests.count;
  }
  is_on = false;
  Counts counts;
  counts.mutexes = mutexes.count;
  counts.allocations = allocations.count;
  const auto stacks = requests.recorded();
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    counts.requests.push_back({request_functions[i], stacks[i]});
  }
  if (records) {
    counts.mutex_stacks = mutexes.recorded();
    counts.allocation_stacks = allocations.recorded();
  }
  return counts;
}

}  // namespace zklock::testing

using namespace zklock::testing;

// ---- mutexes

namespace {

constinit Replaced<int(pthread_mutex_t*)> mutex_lock{"pthread_mutex_lock"};
constinit Replaced<int(pthread_mutex_t*)> mutex_trylock{"pthread_mutex_trylock"};
constinit Replaced<int(pthread_mutex_t*, const timespec*)> mutex_timedlock{
    "pthread_mutex_timedlock"};
constinit Replaced<int(pthread_mutex_t*, clockid_t, const timespec*)> mutex_clocklock{
    "pthread_mutex_clocklock"};

}  // namespace

extern "C" {

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  return locked(mutex_lock(mutex), __builtin_return_address(0));
}
int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  return locked(mutex_trylock(mutex), __builtin_return_address(0));
}
int pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec* until) noexcept {
  return locked(mutex_timedlock(mutex, until), __builtin_return_address(0));
}
int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock,
                            const timespec* until) noexcept {
  return locked(mutex_clocklock(mutex, clock, until), __builtin_return_address(0));
}

}  // extern "C"

// ---- requests

// NOLINTBEGIN(bugprone-macro-parentheses): two parameters are lists in parentheses
#define ZKLOCK_COUNT_REQUEST(function, parameters, arguments)      \
  extern "C" int function parameters {                             \
    static constinit Replaced<int parameters> original{#function}; \
    count_request(#function);                                      \
    return original arguments;                                     \
  }
// NOLINTEND(bugprone-macro-parentheses)

ZKLOCK_COUNT_REQUEST(zoo_acreate2,
                     (zhandle_t * zh, const char* path, const char* value, int length,
                      const ACL_vector* acl, int mode, string_stat_completion_t done,
                      const void* data),
                     (zh, path, value, length, acl, mode, done, data))
ZKLOCK_COUNT_REQUEST(zoo_adelete,
                     (zhandle_t * zh, const char* path, int version, void_completion_t done,
                      const void* data),
                     (zh, path, version, done, data))
ZKLOCK_COUNT_REQUEST(zoo_aexists,
                     (zhandle_t * zh, const char* path, int watch, stat_completion_t done,
                      const void* data),
                     (zh, path, watch, done, data))
ZKLOCK_COUNT_REQUEST(zoo_aget,
                     (zhandle_t * zh, const char* path, int watch, data_completion_t done,
                      const void* data),
                     (zh, path, watch, done, data))
ZKLOCK_COUNT_REQUEST(zoo_aget_children2,
                     (zhandle_t * zh, const char* path, int watch, strings_stat_completion_t done,
                      const void* data),
                     (zh, path, watch, done, data))
ZKLOCK_COUNT_REQUEST(zoo_aset,
                     (zhandle_t * zh, const char* path, const char* value, int length, int version,
                      stat_completion_t done, const void* data),
                     (zh, path, value, length, version, done, data))
ZKLOCK_COUNT_REQUEST(zoo_amulti,
                     (zhandle_t * zh, int size, const zoo_op_t* operations,
                      zoo_op_result_t* results, void_completion_t done, const void* data),
                     (zh, size, operations, results, done, data))

// ---- allocations
// The library's forms for arrays and with std::nothrow call these.

void* operator new(std::size_t size) {
  return allocate(size);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
