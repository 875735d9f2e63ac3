// SPDX-License-Identifier: Apache-2.0
// Readers hold together, a writer holds alone, and a writer downgrades to a reader. The promise: no
// reader sees a half-written catalog. After a downgrade other readers are granted too, and a writer
// in the queue waits until all readers have released.
#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include <zklock/zklock.h>

#include "promise.h"

namespace {

using namespace std::chrono_literals;
using example::promise;

constexpr int kReaders = 6;
constexpr int kEditions = 20;
const std::string kPath = "/examples/catalog";

// Both halves must be of one edition. The struct itself does not ensure that: the lock does.
struct Catalog {
  std::atomic<int> first_half{0};
  std::atomic<int> second_half{0};
};

// Reads with a session of its own, as a separate process would.
int count_torn_reads(const std::string& hosts, const Catalog& catalog) {
  zklock::Client client(hosts);
  zklock::SharedMutex mutex(client, kPath);
  int torn = 0;
  for (int seen = 0; seen < kEditions;) {
    const std::shared_lock reading(mutex);
    seen = catalog.first_half;
    std::this_thread::yield();
    if (catalog.second_half != seen) ++torn;
  }
  return torn;
}

void read_beside_a_writer(const std::string& hosts) {
  Catalog catalog;
  std::vector<std::future<int>> reading;
  for (int i = 0; i < kReaders; ++i) {
    reading.push_back(
        std::async(std::launch::async, [&] { return count_torn_reads(hosts, catalog); }));
  }
  zklock::Client client(hosts);
  zklock::SharedMutex mutex(client, kPath);
  for (int edition = 1; edition <= kEditions; ++edition) {
    const std::unique_lock writing(mutex);
    catalog.first_half = edition;
    std::this_thread::yield();
    catalog.second_half = edition;
  }
  int torn = 0;
  for (auto& each : reading) torn += each.get();
  promise(torn == 0, "no reader saw a half written edition");
}

void write_then_read_along(const std::string& hosts) {
  zklock::Client ours(hosts);
  zklock::Client theirs(hosts);
  zklock::SharedMutex mutex(ours, kPath);
  zklock::SharedMutex others(theirs, kPath);
  mutex.lock();
  const auto token = mutex.acquire_shared().token();  // the token of the write lock
  auto reader = others.async_acquire_shared();
  promise(reader.wait_for(200ms) == std::future_status::timeout, "a writer is alone");
  mutex.lock_shared();
  mutex.unlock();
  const bool let_in = reader.wait_for(30s) == std::future_status::ready;
  promise(let_in && mutex.read_count() == 1, "after a downgrade others read along");
  promise(reader.get().token() > token, "with higher tokens than that of the writer");
  promise(!others.try_lock(), "and no other contender writes");
  mutex.unlock_shared();
}

}  // namespace

int main(int argc, char** argv) {
  return example::run(argc, argv, [](const std::string& hosts) {
    read_beside_a_writer(hosts);
    write_then_read_along(hosts);
  });
}
