// SPDX-License-Identifier: Apache-2.0
#include "chaos/crew.h"

#include <csignal>

#include "chaos/workload.h"
#include "zklock/testing/servers/wait_for.h"

namespace zklock::chaos {
namespace {

constexpr std::chrono::seconds kCrewTimeout{180};

}  // namespace

CrewMember::CrewMember(const CrewPlan& plan, unsigned number, Ensemble& ensemble,
                       Collector& collector)
    : plan_(plan),
      number_(number),
      session_timeout_(ensemble.settings().session_timeout +
                       (number % 4) * ensemble.settings().timeout_step),
      collector_(collector),
      proxy_(ensemble.ports()) {}

void CrewMember::start() {
  const auto life_seed = plan_.seed * 1'000'003 + std::uint64_t{1009} * number_ + life_;
  testing::ChildOptions options;
  options.argv = {plan_.program,
                  proxy_.hosts() + kChroot,
                  collector_.socket_path(),
                  std::to_string(number_),
                  std::to_string(life_),
                  std::to_string(life_seed),
                  std::to_string(session_timeout_.count())};
  options.log_file = plan_.directory / ("client-" + std::to_string(number_) + ".log");
  process_ = std::make_unique<testing::ChildProcess>(options);
  // From now on the process reacts to signals.
  if (!testing::eventually([this] { return collector_.has_met(number_, life_); }, kCrewTimeout)) {
    collector_.claim("client " + std::to_string(number_) + " does not start");
  }
}

void CrewMember::start_again() {
  process_->kill();
  ++life_;
  start();
}

void CrewMember::signal(int number) {
  // As long as running() is true, the pid belongs to this child.
  if (process_->running()) static_cast<void>(::kill(process_->pid(), number));
}

bool CrewMember::ends_with(int exit_code) {
  const auto status = process_->wait(kCrewTimeout);
  const std::string name = "client " + std::to_string(number_);
  if (!status) {
    collector_.claim(name + " did not come to an end");
    return false;
  }
  if (status->exit_code == exit_code) return true;
  collector_.claim(name + " ended with status " + std::to_string(status->exit_code) + ", signal " +
                   std::to_string(status->signal));
  return false;
}

bool CrewMember::lives() {
  if (process_->running()) return true;
  return ends_with(-2);  // an exit code that no client has
}

Crew::Crew(const CrewPlan& plan, Ensemble& ensemble, Collector& collector) {
  for (std::size_t i = 0; i < plan.size; ++i) {
    members_.push_back(
        std::make_unique<CrewMember>(plan, static_cast<unsigned>(i), ensemble, collector));
  }
}

void Crew::start() {
  for (const auto& member : members_) member->start();
}

void Crew::end() {
  for (const auto& member : members_) {
    if (member->lives()) member->process().terminate();
  }
  for (const auto& member : members_) {
    if (member->process().running()) member->ends_with(0);
  }
}

}  // namespace zklock::chaos
