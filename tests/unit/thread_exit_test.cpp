// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/session/thread_exit.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

namespace zklock::detail {
namespace {

class Recorder : public ThreadExitListener {
 public:
  void thread_exits(Owner owner) noexcept override {
    owners.push_back(owner);
    if (then) then();
  }
  std::vector<Owner> owners;
  std::function<void()> then;
};

TEST(ThreadExit, RegisteredRepeatedly_CalledOnceWithTheOwner) {
  const auto recorder = std::make_shared<Recorder>();
  Owner owner = Owner::unique();
  bool called_early = false;
  std::thread([&] {
    owner = Owner::this_thread();
    for (int i = 0; i < 3; ++i) call_at_thread_exit(recorder);
    called_early = !recorder->owners.empty();
  }).join();
  EXPECT_FALSE(called_early);
  EXPECT_EQ(recorder->owners, std::vector{owner});
}

TEST(ThreadExit, RegisteredOnTwoThreads_CalledForEach) {
  const auto recorder = std::make_shared<Recorder>();
  std::thread([&] {
    call_at_thread_exit(recorder);
    std::thread([&] { call_at_thread_exit(recorder); }).join();
    EXPECT_EQ(recorder->owners.size(), 1U);
    EXPECT_NE(recorder->owners.front(), Owner::this_thread());
  }).join();
  EXPECT_EQ(recorder->owners.size(), 2U);
}

// Counts its allocations. A control block lives as long as a weak_ptr to it.
template <class T>
struct CountingAllocator {
  using value_type = T;
  explicit CountingAllocator(int* counter) : live(counter) {}
  template <class U>
  CountingAllocator(const CountingAllocator<U>& other) : live(other.live) {}  // NOLINT
  T* allocate(std::size_t n) {
    ++*live;
    return std::allocator<T>().allocate(n);
  }
  void deallocate(T* p, std::size_t n) {
    --*live;
    std::allocator<T>().deallocate(p, n);
  }
  template <class U>
  bool operator==(const CountingAllocator<U>& other) const {
    return live == other.live;
  }
  int* live;
};

TEST(ThreadExit, ListenersExpireEarly_ArePruned) {
  int live = 0;
  int most = 0;
  const auto recorder = std::make_shared<Recorder>();
  const auto last = std::make_shared<Recorder>();
  std::thread([&] {
    call_at_thread_exit(recorder);
    for (int i = 0; i < 1000; ++i) {
      call_at_thread_exit(std::allocate_shared<Recorder>(CountingAllocator<Recorder>(&live)));
      most = std::max(most, live);
    }
    call_at_thread_exit(last);
  }).join();
  EXPECT_LT(most, 100);
  EXPECT_EQ(live, 0);
  EXPECT_EQ(recorder->owners.size(), 1U) << "the living one was not pruned";
  EXPECT_EQ(last->owners.size(), 1U);
}

struct AtTheEnd {
  std::function<void()> action;
  ~AtTheEnd() {
    if (action) action();
  }
};
thread_local AtTheEnd made_before;
thread_local AtTheEnd made_after;

TEST(ThreadExit, ThreadLocalObjects_AreDestroyedBeforeTheCall) {
  const auto recorder = std::make_shared<Recorder>();
  std::vector<std::size_t> calls_seen;
  const auto look = [&] { calls_seen.push_back(recorder->owners.size()); };
  std::thread([&] {
    made_before.action = look;
    call_at_thread_exit(recorder);
    made_after.action = look;
  }).join();
  EXPECT_EQ(calls_seen, (std::vector<std::size_t>{0, 0}));
  EXPECT_EQ(recorder->owners.size(), 1U);
}

TEST(ThreadExit, RegisteredFromACall_IsCalled) {
  const auto first = std::make_shared<Recorder>();
  const auto second = std::make_shared<Recorder>();
  first->then = [&] { call_at_thread_exit(second); };
  std::thread([&] { call_at_thread_exit(first); }).join();
  EXPECT_EQ(first->owners.size(), 1U);
  EXPECT_EQ(second->owners.size(), 1U);
}

// Reports through a pipe, so that another process can receive it.
class Reporter : public ThreadExitListener {
 public:
  Reporter(int fd, char letter) : fd_(fd), letter_(letter) {}
  void thread_exits(Owner /*owner*/) noexcept override { EXPECT_EQ(::write(fd_, &letter_, 1), 1); }

 private:
  int fd_;
  char letter_;
};

struct Forking {
  int pipe = -1;
  bool child_registers = false;
  pid_t child = -1;
};

void* fork_in_this_thread(void* argument) {
  auto& forking = *static_cast<Forking*>(argument);
  // On the heap, because the child does not unwind the stack of the thread that waits for this
  // thread.
  const auto& of_parent = *new auto(std::make_shared<Reporter>(forking.pipe, 'p'));
  const auto& of_child = *new auto(std::make_shared<Reporter>(forking.pipe, 'c'));
  call_at_thread_exit(of_parent);
  forking.child = ::fork();
  if (forking.child == 0) {
    if (forking.child_registers) call_at_thread_exit(of_child);
    // Created later, so called later. The child ends here, before its exit handlers.
    pthread_key_t end;
    ::pthread_key_create(&end, [](void*) { ::_exit(0); });
    ::pthread_setspecific(end, argument);
  } else {
    delete &of_parent;
    delete &of_child;
  }
  return nullptr;
}

// Returns the letters of the listeners that were called in the child.
std::string called_in_child(bool child_registers) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  Forking forking{ends[1], child_registers, -1};
  pthread_t thread;
  EXPECT_EQ(::pthread_create(&thread, nullptr, &fork_in_this_thread, &forking), 0);
  EXPECT_EQ(::pthread_join(thread, nullptr), 0);
  int status = -1;
  EXPECT_EQ(::waitpid(forking.child, &status, 0), forking.child);
  EXPECT_EQ(status, 0);
  ::close(ends[1]);
  char received[8] = {};
  const auto count = ::read(ends[0], received, sizeof received - 1);
  ::close(ends[0]);
  // The parent's own listeners were dropped before its thread ended.
  return {received, static_cast<std::size_t>(std::max<ssize_t>(count, 0))};
}

TEST(ThreadExit, ForkedChild_CallsOnlyItsOwnListeners) {
  EXPECT_EQ(called_in_child(true), "c");
  EXPECT_EQ(called_in_child(false), "");
}

}  // namespace
}  // namespace zklock::detail
