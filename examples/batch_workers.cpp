// SPDX-License-Identifier: Apache-2.0
// Batch workers share a resource with three permits, in a fair queue. The promise: never more than
// three permits are in use, every batch is granted, and the queue is empty at the end.
#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <zklock/zklock.h>

#include "promise.h"

namespace {

using example::promise;

constexpr int kPermits = 3;
constexpr int kWorkers = 8;
constexpr int kBatchesEach = 5;

// The resource. It records how many permits were in use at a time.
class Resource {
 public:
  void use(int permits_held) {
    const int now = users_ += permits_held;
    int most = most_;
    while (now > most && !most_.compare_exchange_weak(most, now)) {
    }
    std::this_thread::yield();
    users_ -= permits_held;
    ++batches_;
  }
  int most() const { return most_; }
  int batches() const { return batches_; }

 private:
  std::atomic<int> users_{0};
  std::atomic<int> most_{0};
  std::atomic<int> batches_{0};
};

// Works with a session of its own, as a separate process would.
void work(const std::string& hosts, int worker, Resource& resource) {
  zklock::Client client(hosts);
  zklock::Semaphore semaphore(client, "/examples/batch", kPermits);
  for (int batch = 0; batch < kBatchesEach; ++batch) {
    // Every third worker needs two permits for a batch. It gets both at once, or waits.
    const zklock::Permit permit = semaphore.acquire(worker % 3 == 0 ? 2 : 1);
    resource.use(permit.permits());
  }
  static_cast<void>(client.flush());  // batch_workers() counts the contenders that are left
}

void batch_workers(const std::string& hosts) {
  Resource resource;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kWorkers; ++i) {
      threads.emplace_back([&, i] { work(hosts, i, resource); });
    }
  }
  promise(resource.batches() == kWorkers * kBatchesEach, "every batch is granted");
  promise(resource.most() <= kPermits, "at most three permits are in use at a time");
  zklock::Client client(hosts);
  promise(zklock::Semaphore(client, "/examples/batch", kPermits).participants().empty(),
          "the queue is empty at the end");
}

}  // namespace

int main(int argc, char** argv) {
  return example::run(argc, argv, batch_workers);
}
