// SPDX-License-Identifier: Apache-2.0
//   zklock_threads [--operations N] [--threads N]
//
// Many threads use shared objects with calls that send no request: re-entry, queries, and hand-offs
// of a retained or shared znode. ThreadSanitizer and helgrind look for races; the program itself
// checks the counts. See README.md. Exit status 1: an error was found. 2: wrong arguments.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <iostream>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "zklock/testing/test_server.h"
#include "zklock/zklock.h"

namespace zklock::threads {
namespace {

using namespace std::chrono_literals;

void demand(bool fact, const char* what) {
  if (!fact) throw std::runtime_error(what);
}

// The objects that all threads use, and the numbers that only their locks protect.
struct Shared {
  explicit Shared(Client& client)
      : kept(client, "/threads/kept", {.keep_idle_for = 60s}),
        batch(client, "/threads/batch", {.max_local_handoffs = 64, .keep_idle_for = 60s}),
        handed_off(client, "/threads/passed", {.max_local_handoffs = 64, .keep_idle_for = 60s}),
        shared(client, "/threads/shared"),
        latch(client, "/threads/latch") {
    latch.start();
    demand(latch.wait_until_leader(60s), "the latch does not lead");
    leadership = latch.leadership();
    hold = ReentrantMutex(client, "/threads/hold").acquire();
    reading = shared.acquire_shared();
  }

  ReentrantMutex kept;
  ReentrantMutex batch;
  Mutex handed_off;
  SharedMutex shared;
  LeaderLatch latch;
  Leadership leadership;
  Hold hold;     // queried by all threads; const
  Hold reading;  // of another thread
  std::uint64_t in_kept = 0;
  std::uint64_t in_batch = 0;
  std::uint64_t in_handed_off = 0;
};

// The work of one thread. Counts its calls.
class Worker {
 public:
  explicit Worker(Shared& shared) : shared_(shared) {}

  std::uint64_t operations() const { return operations_; }
  std::uint64_t turns() const { return turns_; }

  void turn() {
    query();
    nest(shared_.kept, shared_.in_kept);
    query();
    nest(shared_.batch, shared_.in_batch);
    pass_on();
    ++turns_;
  }

 private:
  void count(std::uint64_t calls) { operations_ += calls; }

  // Queries of objects that this thread does not hold.
  void query() {
    for (int i = 0; i < 5; ++i) {
      demand(!shared_.batch.is_held_by_this_thread(), "another thread's lock is held");
      demand(shared_.batch.hold_count() == 0, "another thread's lock is counted");
      demand(shared_.shared.read_count() == 0, "another thread's reading is counted");
      demand(shared_.shared.write_count() == 0, "a lock to write is counted");
      demand(shared_.hold.state() != HoldState::lost, "the hold is lost");
      demand(shared_.hold.valid_until() > LeaseClock::now(), "the hold is not valid");
      demand(shared_.hold.token() > FencingToken{}, "the hold has no token");
      demand(!shared_.hold.loss_token().stop_requested(), "the hold's token is stopped");
      demand(!shared_.hold.node().empty(), "the hold has no node");
      demand(shared_.reading.state() != HoldState::lost, "the reading is lost");
      demand(shared_.latch.has_leadership(), "the latch does not lead");
      demand(shared_.leadership.state() != HoldState::lost, "the leadership has ended");
      demand(shared_.handed_off.path() == "/threads/passed", "a path is another");
      (void)shared_.handed_off.is_locked();
    }
    count(70);  // 5 times 14 operations
  }

  void nest(ReentrantMutex& mutex, std::uint64_t& guarded) {
    constexpr int kDepth = 8;
    const std::unique_lock lock(mutex);
    ++guarded;
    for (int depth = 2; depth < 2 + kDepth; ++depth) {
      demand(depth % 2 == 0 ? mutex.try_lock() : mutex.try_lock_for(1s), "no re-entry");
      demand(mutex.is_held_by_this_thread(), "what is locked is not held");
      demand(mutex.hold_count() == depth, "the count is another");
    }
    const Hold hold = mutex.acquire();
    demand(hold.state() != HoldState::lost, "what is held is lost");
    demand(hold.valid_until() > LeaseClock::now(), "what is held is not valid");
    for (int depth = 0; depth < kDepth; ++depth) mutex.unlock();
    demand(mutex.hold_count() == 2, "the last count is another");
    count(2 + kDepth * 4 + 5);
  }

  // Locks and unlocks, so that each release hands the lock off to another thread.
  void pass_on() {
    shared_.handed_off.lock();
    ++shared_.in_handed_off;
    shared_.handed_off.unlock();
    count(2);
  }

  Shared& shared_;
  std::uint64_t operations_ = 0;
  std::uint64_t turns_ = 0;
};

struct Arguments {
  std::uint64_t operations = 1'000'000;
  std::size_t threads = 4;
};

std::optional<Arguments> parse(const std::vector<std::string>& words) {
  Arguments result;
  for (std::size_t i = 0; i < words.size(); i += 2) {
    if (i + 1 == words.size()) return std::nullopt;
    const std::string& value = words[i + 1];
    if (value.empty() || value.size() > 9 ||
        value.find_first_not_of("0123456789") != std::string::npos || std::stoul(value) == 0) {
      return std::nullopt;
    }
    if (words[i] == "--operations") {
      result.operations = std::stoul(value);
    } else if (words[i] == "--threads") {
      result.threads = std::stoul(value);
    } else {
      return std::nullopt;
    }
  }
  return result;
}

int run(const Arguments& arguments) {
  testing::TestServer server;
  server.start();
  demand(server.wait_until_serving(), "there is no server");
  ClientOptions options;
  options.hosts = server.hosts();
  options.session_timeout = 30s;  // no loss here, even on a slow machine
  Client client(options);
  Shared shared(client);

  std::vector<Worker> workers(arguments.threads, Worker(shared));
  std::atomic<bool> failed{false};
  {
    std::vector<std::jthread> threads;
    for (Worker& worker : workers) {
      threads.emplace_back([&] {
        try {
          const std::uint64_t share = arguments.operations / arguments.threads + 1;
          while (worker.operations() < share && !failed) worker.turn();
        } catch (const std::exception& error) {
          failed = true;
          std::cout << (std::string("BROKEN: ") + error.what() + "\n") << std::flush;
        }
      });
    }
  }
  std::uint64_t operations = 0;
  std::uint64_t turns = 0;
  for (const Worker& worker : workers) {
    operations += worker.operations();
    turns += worker.turns();
  }
  if (failed) return 1;
  demand(shared.in_kept == turns, "an increment under a kept lock got lost");
  demand(shared.in_batch == turns, "an increment under a shared node's lock got lost");
  demand(shared.in_handed_off == turns, "an increment under a mutex got lost");
  std::cout << operations << " local operations, " << 3 * turns << " hand-overs, "
            << arguments.threads << " threads\n";
  return 0;
}

}  // namespace
}  // namespace zklock::threads

int main(int argc, char** argv) {
  const auto arguments = zklock::threads::parse({argv + 1, argv + argc});
  if (!arguments) {
    std::cerr << "usage: zklock_threads [--operations N] [--threads N]\n";
    return 2;
  }
  try {
    return zklock::threads::run(*arguments);
  } catch (const std::exception& error) {
    std::cout << "BROKEN: " << error.what() << std::endl;
    return 1;
  }
}
