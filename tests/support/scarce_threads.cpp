// SPDX-License-Identifier: Apache-2.0
#include "support/scarce_threads.h"

#include <cerrno>
#include <limits>
#include <mutex>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <pthread.h>

namespace zklock::testing {
namespace {

constexpr std::size_t kPlenty = std::numeric_limits<std::size_t>::max();
constinit thread_local std::size_t threads_left = kPlenty;
constinit thread_local bool out_of_threads = false;

// Constant-initialized and never destroyed: any thread of the process may join another.
constinit std::mutex mutex;
constinit std::vector<pthread_t>* unjoined_threads = nullptr;  // guarded by mutex

// Returns the function that this file replaces: the interceptor of a sanitizer, or that of glibc.
template <class Function>
Function* replaced(const char* name) {
  const std::string intercepted = std::string("__interceptor_") + name;
  void* const found = ::dlsym(RTLD_DEFAULT, intercepted.c_str());
  return reinterpret_cast<Function*>(found != nullptr ? found : ::dlsym(RTLD_NEXT, name));
}

void record_joined(pthread_t thread) {
  const std::lock_guard guard(mutex);
  if (unjoined_threads != nullptr) std::erase(*unjoined_threads, thread);
}

}  // namespace

ScarceThreads::ScarceThreads(std::size_t available) {
  const std::lock_guard guard(mutex);
  unjoined_threads = new std::vector<pthread_t>;
  out_of_threads = false;
  threads_left = available;
}

ScarceThreads::~ScarceThreads() {
  threads_left = kPlenty;
  const std::lock_guard guard(mutex);
  delete unjoined_threads;
  unjoined_threads = nullptr;
}

bool ScarceThreads::ran_out() const noexcept {
  return out_of_threads;
}

std::size_t ScarceThreads::unjoined() const {
  const std::lock_guard guard(mutex);
  return unjoined_threads->size();
}

}  // namespace zklock::testing

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*body)(void*), void* argument) noexcept {
  using namespace zklock::testing;
  static auto* const kCreate = replaced<decltype(pthread_create)>("pthread_create");
  if (threads_left == kPlenty) return kCreate(thread, attributes, body, argument);
  if (threads_left == 0) {
    out_of_threads = true;
    return EAGAIN;
  }
  --threads_left;
  const std::lock_guard guard(mutex);  // held until the thread is recorded
  const int code = kCreate(thread, attributes, body, argument);
  if (code == 0) unjoined_threads->push_back(*thread);
  return code;
}

extern "C" int pthread_join(pthread_t thread, void** result) {
  using namespace zklock::testing;
  static auto* const kJoin = replaced<decltype(pthread_join)>("pthread_join");
  record_joined(thread);  // before: afterwards, a new thread can have the same id
  return kJoin(thread, result);
}
