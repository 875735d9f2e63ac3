// SPDX-License-Identifier: Apache-2.0
// Urgent work is done first. The promise: the heaviest waiting contender is granted next, and
// contenders of equal weight in the order of arrival. A holder is not displaced, and tokens rise
// from grant to grant.
#include <chrono>
#include <cstddef>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <zklock/zklock.h>

#include "promise.h"

namespace {

using namespace std::chrono_literals;
using example::promise;

const std::string kPath = "/examples/urgent";

struct Job {
  std::string name;
  int weight;
};

void urgent_work(const std::string& hosts) {
  zklock::Client client(hosts);
  zklock::PriorityMutex mutex(client, kPath);
  zklock::Hold hold = mutex.acquire({}, 1);

  const std::vector<Job> jobs{{"report", 1}, {"backup", 1}, {"invoice", 5}, {"alarm", 10}};
  const std::vector<std::string> by_urgency{"alarm", "invoice", "report", "backup"};
  std::vector<std::pair<std::string, std::future<zklock::Hold>>> waiting;
  for (const Job& job : jobs) {
    const std::size_t before = mutex.participants().size();
    waiting.emplace_back(job.name, mutex.async_acquire({}, job.weight));
    for (int i = 0; i < 3000 && mutex.participants().size() == before; ++i) {
      std::this_thread::sleep_for(10ms);
    }
  }
  promise(hold.state() == zklock::HoldState::held, "the lightest holds on while heavier ones wait");

  std::vector<std::string> done;
  auto token = hold.token();
  bool rising = true;
  while (done.size() < jobs.size()) {
    hold.release();
    // Exactly one contender is granted.
    for (int i = 0; i < 30000 && !hold; ++i) {
      for (auto& [name, future] : waiting) {
        if (!future.valid() || future.wait_for(0ms) != std::future_status::ready) continue;
        hold = future.get();
        done.push_back(name);
        break;
      }
      std::this_thread::sleep_for(1ms);
    }
    promise(static_cast<bool>(hold), "the next one is granted");
    rising = rising && hold.token() > std::exchange(token, hold.token());
  }
  promise(done == by_urgency, "in the order of urgency: alarm, invoice, report, backup");
  promise(rising, "with rising tokens");
}

}  // namespace

int main(int argc, char** argv) {
  return example::run(argc, argv, urgent_work);
}
