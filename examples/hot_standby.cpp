// SPDX-License-Identifier: Apache-2.0
// Several instances of a service, of which one is active. The promise: two are never active. When
// the active instance closes its latch, the next in the queue becomes active, with a higher token.
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <zklock/zklock.h>

#include "promise.h"

namespace {

using namespace std::chrono_literals;
using example::promise;

constexpr std::size_t kInstances = 3;
const std::string kPath = "/examples/service";

struct Instance {
  explicit Instance(const std::string& hosts) : client(hosts) {}
  zklock::Client client;
  zklock::LeaderLatch latch{client, kPath};
};

void hot_standby(const std::string& hosts) {
  std::vector<std::unique_ptr<Instance>> service;
  for (std::size_t i = 0; i < kInstances; ++i) {
    service.push_back(std::make_unique<Instance>(hosts));
    service.back()->latch.start();
    if (i > 0) continue;
    promise(service.front()->latch.wait_until_leader(30s), "the first one becomes active");
  }
  const zklock::LeaderLatch& seen = service.back()->latch;
  for (int i = 0; i < 3000 && seen.participants().size() < kInstances; ++i) {
    std::this_thread::sleep_for(10ms);
  }

  const auto active = [&] {
    return std::ranges::count_if(service,
                                 [](const auto& each) { return each->latch.has_leadership(); });
  };
  zklock::FencingToken last{};
  while (!service.empty()) {
    promise(active() == 1, "one is active");
    const auto leading = std::ranges::find_if(
        service, [](const auto& each) { return each->latch.has_leadership(); });
    const auto leader = (*leading)->latch.leader();
    promise(leader && leader->mine, "the servers report it too");
    promise((*leading)->latch.token() > last, "its token is higher than that of the previous one");
    last = (*leading)->latch.token();
    (*leading)->latch.close(zklock::CloseMode::notify);
    service.erase(leading);
    if (service.empty()) break;
    for (int i = 0; i < 3000 && active() == 0; ++i) std::this_thread::sleep_for(10ms);
  }
}

}  // namespace

int main(int argc, char** argv) {
  return example::run(argc, argv, hot_standby);
}
