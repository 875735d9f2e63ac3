// SPDX-License-Identifier: Apache-2.0
// An operator makes a pool of licences larger and smaller while workers use it. The promise: never
// more licences are granted than the pool has. Licences in use stay valid when the pool becomes
// smaller. When it becomes larger, waiting workers are granted at once. The count remains when all
// clients are closed.
//
// usage: resize_pool <hosts>
#include <chrono>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include <zklock/zklock.h>

#include "promise.h"

namespace {

using example::promise;

using namespace std::chrono_literals;

constexpr const char* kPath = "/examples/licences";

void resize(const std::string& hosts) {
  zklock::Client operators(hosts);
  zklock::Client workers(hosts);
  // The first client sets the number of licences; later clients read it.
  zklock::Semaphore pool(operators, kPath, zklock::SharedCount{.initial = 2});
  zklock::Semaphore licences(workers, kPath, zklock::SharedCount{.initial = 2});
  pool.set_permits(2);

  std::vector<zklock::Permit> used;
  used.push_back(licences.acquire());
  used.push_back(licences.acquire());
  std::vector<std::future<zklock::Permit>> waiting;
  for (int i = 0; i < 2; ++i) waiting.push_back(licences.async_acquire({.deadline = 60s}, 1));
  promise(!licences.try_acquire(), "two licences are all there are");

  pool.set_permits(4);
  for (auto& each : waiting) used.push_back(each.get());
  promise(used[2] && used[3], "two more permits admit the waiting clients");

  promise(pool.add_permits(-3) == 1, "there are three fewer");
  bool all_held = true;
  for (const auto& each : used) all_held &= each.state() == zklock::HoldState::held;
  promise(all_held, "no client loses a licence by that");
  while (used.size() > 1) {
    used.pop_back();
    promise(workers.flush(30s), "the servers know of each release");
    promise(!pool.try_acquire(), "a released licence is not granted again: there are too few");
  }
  auto next = licences.async_acquire({.deadline = 60s}, 1);
  used.clear();
  zklock::Permit last = next.get();
  promise(last.state() == zklock::HoldState::held, "when the last is back, the next works");

  // A licence that is not released is lost after its maximum hold time.
  promise(last.renew(500ms), "a maximum hold time can be set later");
  promise(static_cast<bool>(pool.acquire({.deadline = 60s}, 1)),
          "a licence held too long is granted to the next");
  promise(last.state() == zklock::HoldState::lost, "and was lost before");

  operators.close();
  workers.close();
  zklock::Client later(hosts);
  const zklock::Semaphore same(later, kPath, zklock::SharedCount{.initial = 100});
  promise(same.permits() == 1, "the count remains when all clients have ended");
}

}  // namespace

int main(int argc, char** argv) {
  return example::run(argc, argv, resize);
}
