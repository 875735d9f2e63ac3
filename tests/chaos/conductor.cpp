// SPDX-License-Identifier: Apache-2.0
#include "chaos/conductor.h"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <utility>

#include "chaos/checker.h"
#include "chaos/faults.h"
#include "support/raw_client.h"
#include "zklock/testing/servers/four_letter_word.h"
#include "zklock/testing/servers/wait_for.h"

namespace zklock::chaos {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using testing::RawClient;

constexpr std::chrono::seconds kTimeout{90};
constexpr unsigned kGroups = 3;  // of clients; one thread each injects their faults

// Appends all ephemeral znodes below `path` to `found`. They are leftovers, as every ephemeral
// znode belongs to a session.
void list_ephemerals(RawClient& raw, const std::string& path, std::string& found) {
  for (const std::string& name : raw.children(path.empty() ? "/" : path).names) {
    const std::string node = path + '/' + name;
    const auto stat = raw.exists(node);
    if (stat.rc == ZOK && stat.stat.ephemeralOwner != 0) found += ' ' + node;
    list_ephemerals(raw, node, found);
  }
}

}  // namespace

Conductor::Conductor(RunPlan plan)
    : plan_(std::move(plan)),
      ensemble_(ServerSettings::of_seed(plan_.seed)),
      collector_((directory_.path() / "collector").string()),
      crew_({.program = plan_.client_program,
             .directory = directory_.path(),
             .seed = plan_.seed,
             .size = plan_.clients},
            ensemble_, collector_) {
  for (std::size_t i = 0; i < kFaults; ++i) faults_[name_of(static_cast<Fault>(i))] = 0;
}

Report Conductor::run() {
  start_servers();
  crew_.start();
  torment();
  std::this_thread::sleep_for(3s);  // without faults, to recover from the last ones
  crew_.end();
  expect_rest();
  return sum_up();
}

void Conductor::start_servers() {
  ensemble_.start();
  if (!ensemble_.wait_until_serving(kTimeout)) throw std::runtime_error(ensemble_.log());
  RawClient raw(ensemble_.hosts());
  if (raw.create(kChroot).rc != ZOK) throw std::runtime_error("the chroot cannot be made");
}

void Conductor::torment() {
  const auto seed = [this](unsigned thread) { return plan_.seed * 7919 + thread; };
  const auto selected = [this](std::vector<Fault> classes) {
    if (!plan_.only.empty()) {
      std::erase_if(classes, [this](Fault fault) { return name_of(fault) != plan_.only; });
    }
    return classes;
  };
  std::vector<std::jthread> threads;
  for (unsigned group = 0; group < kGroups; ++group) {
    threads.emplace_back([this, group, seed, selected] {
      tormentor({selected(FaultPlan::of_clients()), 1200ms, seed(group)},
                [this, group](const PlannedFault& planned) {
                  return do_to_client(planned, victim(group, planned.choice), ensemble_,
                                      collector_);
                });
    });
  }
  threads.emplace_back([this, seed, selected] {
    tormentor({selected(FaultPlan::of_servers()), plan_.only.empty() ? 9s : 1s, seed(kGroups)},
              [this](const PlannedFault& planned) {
                return do_to_servers(planned, ensemble_, collector_);
              });
  });
  threads.emplace_back([this, seed, selected] {
    tormentor({selected(FaultPlan::of_nodes()), 3s, seed(kGroups + 1)},
              [this](const PlannedFault& planned) {
                return do_to_nodes(planned, ensemble_, collector_);
              });
  });
  std::this_thread::sleep_for(plan_.length);
  over_ = true;
}

CrewMember& Conductor::victim(unsigned group, unsigned choice) {
  const std::size_t count = (crew_.size() - kSpared) / kGroups;
  return crew_[kSpared + group * count + choice % count];
}

void Conductor::tormentor(FaultPlan plan, const Deed& deed) {
  while (!over_ && !plan.empty()) {
    const PlannedFault planned = plan.next();
    // Sleeps in short pieces, to notice the end of the run.
    const auto until = std::chrono::steady_clock::now() + planned.pause;
    while (!over_ && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(20ms);
    if (over_) return;
    const bool done = do_one(planned, deed);
    const std::lock_guard guard(mutex_);
    if (done) {
      ++faults_[name_of(planned.fault)];
    } else {
      ++without_effect_;
    }
  }
}

bool Conductor::do_one(const PlannedFault& planned, const Deed& deed) {
  try {
    return deed(planned);
  } catch (const std::exception&) {
    return false;  // no server accepts the connection now
  }
}

void Conductor::expect_rest() {
  std::string left = "no answer";
  const bool at_rest = testing::eventually(
      [&] {
        left = what_is_left();
        return left.empty();
      },
      kTimeout, 200ms);
  if (!at_rest) collector_.claim("at rest there is left:" + left);
}

std::string Conductor::what_is_left() {
  try {
    RawClient raw(ensemble_.hosts() + kChroot, {.connect_timeout = 10s});
    std::string found;
    list_ephemerals(raw, "", found);
    const auto leader = ensemble_.leader();
    if (!leader) return found + " no leader";
    const auto answer = ensemble_[*leader].four_letter_word("mntr").value_or("");
    // The remaining session is that of this function.
    const auto sessions = testing::mntr_value(answer, "zk_global_sessions").value_or("?");
    if (sessions != "1") found += " sessions: " + sessions;
    return found;
  } catch (const std::exception& error) {
    return std::string(" not known: ") + error.what();
  }
}

Report Conductor::sum_up() {
  Report report;
  report.seed = plan_.seed;
  report.servers = ensemble_.settings().name;
  report.seconds = plan_.length.count();
  report.refusals = collector_.refusals();
  report.tally = collector_.tally();
  {
    const std::lock_guard guard(mutex_);
    report.faults = faults_;
    report.faults_without_effect = without_effect_;
  }
  const History history = collector_.take_history();
  report.grants = history.grants.size();
  for (const Grant& grant : history.grants) {
    ++report.grants_by_lock[kWorkload.at(grant.lock).path];
    if (grant.token.grant_index != 0) ++report.local_grants;
    if (grant.end == End::lost) ++report.losses;
  }
  report.violations = check(history);
  // A run that was starved finds nothing, and shows nothing.
  if (report.grants == 0 || report.faults_in_all() == 0) {
    report.violations.push_back("nothing was tried: " + std::to_string(report.grants) +
                                " grants, " + std::to_string(report.faults_in_all()) + " faults");
  }
  if (!report.violations.empty()) keep(report, history);
  return report;
}

void Conductor::keep(Report& report, const History& history) const {
  const auto place = plan_.keep_in / ("chaos-" + std::to_string(plan_.seed));
  std::filesystem::create_directories(place);
  std::ofstream out(place / "history.txt");
  for (const std::string& violation : report.violations) out << "VIOLATION " << violation << '\n';
  write(out, history);
  for (const auto& file : std::filesystem::directory_iterator(directory_.path())) {
    if (file.path().extension() != ".log") continue;
    std::filesystem::copy_file(file.path(), place / file.path().filename(),
                               std::filesystem::copy_options::overwrite_existing);
  }
  report.kept = place.string();
}

}  // namespace zklock::chaos
