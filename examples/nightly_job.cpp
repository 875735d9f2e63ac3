// SPDX-License-Identifier: Apache-2.0
// Every machine starts a job at the same time, but the job must run once. The promise: one machine
// runs it, the others are notified that it is running, and none waits.
#include <atomic>
#include <future>
#include <string>
#include <vector>

#include <zklock/zklock.h>

#include "promise.h"

namespace {

using example::promise;
using zklock::LockOutcome;

constexpr int kMachines = 5;
const std::string kPath = "/examples/nightly";

// Runs with a session of its own, as a separate process would. The job lasts until all have tried.
LockOutcome start(const std::string& hosts, std::atomic<int>& attempted, std::atomic<int>& runs) {
  zklock::Client client(hosts);
  const auto result =
      zklock::with_lock(client, kPath, {.deadline = zklock::Deadline::passed()}, [&] {
        ++runs;
        ++attempted;
        for (int now = attempted; now < kMachines; now = attempted) attempted.wait(now);
      });
  if (result.outcome == LockOutcome::not_run) {
    ++attempted;
    attempted.notify_all();
  }
  return result.outcome;
}

void nightly_job(const std::string& hosts) {
  std::atomic<int> attempted{0};
  std::atomic<int> runs{0};
  std::vector<std::future<LockOutcome>> outcomes;
  for (int i = 0; i < kMachines; ++i) {
    outcomes.push_back(
        std::async(std::launch::async, [&] { return start(hosts, attempted, runs); }));
  }
  int ran = 0;
  int not_run = 0;
  for (auto& each : outcomes) {
    const LockOutcome outcome = each.get();
    if (outcome == LockOutcome::ran) ++ran;
    if (outcome == LockOutcome::not_run) ++not_run;
  }
  promise(runs == 1 && ran == 1, "the job ran once, under the lock to its end");
  promise(not_run == kMachines - 1, "the others were notified that it is being done");
}

}  // namespace

int main(int argc, char** argv) {
  return example::run(argc, argv, nightly_job);
}
