// SPDX-License-Identifier: Apache-2.0
// An operator needs a lock that another process holds. The promise: a holder that observes the
// request finishes its current piece of work and releases. A holder that ignores the request can be
// forced: its hold is lost, and it is notified of that before the next contender is granted.
#include <atomic>
#include <chrono>
#include <future>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include <zklock/zklock.h>

#include "promise.h"

namespace {

using namespace std::chrono_literals;
using example::promise;
using zklock::HoldState;

const std::string kPath = "/examples/request_release";

// Works piece by piece, and checks between two pieces whether a release was requested.
class Worker {
 public:
  explicit Worker(zklock::Client& client) : mutex_(client, kPath) {
    zklock::Hold hold = mutex_.acquire({.deadline = 30s});
    promise(static_cast<bool>(hold), "a worker holds the lock");
    thread_ = std::jthread([this, hold = std::move(hold)](const std::stop_token& stop) mutable {
      const std::stop_token requested = hold.release_request_token();
      while (!requested.stop_requested() && !stop.stop_requested()) work();
      hold.release();
    });
  }
  void wait_until_it_works() const { done_.wait(0); }
  bool is_at_work() const { return begun_ != done_; }

 private:
  void work() {
    ++begun_;
    std::this_thread::sleep_for(20ms);
    ++done_;
    done_.notify_all();
  }

  zklock::ReentrantMutex mutex_;
  std::atomic<int> begun_{0};
  std::atomic<int> done_{0};
  std::jthread thread_;  // last member: it uses the others
};

void check_holder_that_observes(zklock::Client& workers, zklock::Client& operators) {
  Worker worker(workers);
  worker.wait_until_it_works();
  promise(zklock::request_release(operators, kPath, {.deadline = 30s}),
          "a holder that observes requests releases");
  promise(!worker.is_at_work(), "after it has finished its work");
}

void check_holder_that_ignores(zklock::Client& workers, zklock::Client& operators) {
  zklock::ReentrantMutex theirs(workers, kPath);
  const zklock::Hold hold = theirs.acquire({.deadline = 30s});
  zklock::ReentrantMutex ours(operators, kPath);
  auto next = ours.async_acquire({.deadline = 60s});
  promise(!zklock::request_release(operators, kPath, {.deadline = 2s}),
          "a holder that ignores requests keeps the lock");
  promise(hold.state() == HoldState::held, "and its hold is unchanged");

  promise(zklock::request_release(operators, kPath, {.force = true, .deadline = 30s}),
          "then the lock is taken from it");
  const zklock::Hold granted = next.get();
  const bool knew = hold.loss_token().stop_requested();
  promise(granted.state() == HoldState::held && granted.token() > hold.token(),
          "the operator has it");
  promise(knew && hold.state() == HoldState::lost,
          "and the holder was notified of the loss before");
}

void request_release(const std::string& hosts) {
  zklock::Client workers(hosts);
  zklock::Client operators(hosts);
  check_holder_that_observes(workers, operators);
  check_holder_that_ignores(workers, operators);
}

}  // namespace

int main(int argc, char** argv) {
  return example::run(argc, argv, request_release);
}
