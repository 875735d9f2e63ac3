// SPDX-License-Identifier: Apache-2.0
// Batch workers share a resource that bears three at a time, in a fair queue. The promise: never
// more than three are at work, all get their turn, and nothing is left in the queue.
//
// usage: batch_workers <hosts>
#include <algorithm>
#include <atomic>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <zklock/zklock.h>

namespace {

constexpr int permits = 3;
constexpr int workers = 8;
constexpr int batches_each = 5;

// The resource: it notices when too many use it.
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

// As a process of its own would: with a session of its own.
void work(const std::string& hosts, int worker, Resource& resource) {
  zklock::Client client(hosts);
  zklock::Semaphore semaphore(client, "/examples/batch", permits);
  for (int batch = 0; batch < batches_each; ++batch) {
    // Every third worker has batches that need two permits: it gets both or waits for both.
    const zklock::Permit permit = semaphore.acquire(worker % 3 == 0 ? 2 : 1);
    resource.use(permit.permits());
  }
  client.flush();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string hosts = argc > 1 ? argv[1] : "127.0.0.1:2181";
  Resource resource;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < workers; ++i) {
      threads.emplace_back([&, i] { work(hosts, i, resource); });
    }
  }
  zklock::Client client(hosts);
  const int left =
      static_cast<int>(zklock::Semaphore(client, "/examples/batch", permits).participants().size());
  std::cout << resource.batches() << " batches, at most " << resource.most()
            << " permits at a time, " << left << " contenders left\n";
  const bool kept =
      resource.batches() == workers * batches_each && resource.most() <= permits && left == 0;
  return kept ? 0 : 1;
}
