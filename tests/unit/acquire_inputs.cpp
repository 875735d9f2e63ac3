// SPDX-License-Identifier: Apache-2.0
#include "acquire_inputs.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <string_view>
#include <utility>

namespace zklock::core::acquire_test {

namespace {

constexpr FencingToken kOlder{1};
constexpr FencingToken kOwn{77};
constexpr FencingToken kNewer{1000};

/// Returns the class of a failure. A machine treats all statuses of a class alike.
std::string class_of(Status status) {
  const StatusSort sort = sort_of(status);
  if (sort == StatusSort::refused) return "refused";
  return sort == StatusSort::client_ended ? "over" : std::string(core::to_string(status));
}

/// Adds one input for each status but ok.
template <class Give>
void add_failures(Inputs& inputs, const std::string& name, Give give,
                  const std::string& node = {}) {
  for (const Status status : kAllStatuses) {
    if (status == Status::ok) continue;
    const auto with_status = [give, status](AcquireFsm& fsm) { return give(fsm, status); };
    inputs.push_back({name, class_of(status), with_status, status, node});
  }
}

/// Adds one input for each status.
template <class Give>
void add_statuses(Inputs& inputs, const std::string& name, Give give) {
  inputs.push_back({name, "ok", [give](AcquireFsm& fsm) { return give(fsm, Status::ok); }});
  add_failures(inputs, name, give);
}

void add_created(Inputs& inputs, const AcquireFsm& fsm) {
  const std::string prefix = fsm.present_rule().prefix();
  for (const std::string& name :
       {ZnodeName::make(prefix, {5}).text, ZnodeName::make(prefix, {0}).text,
        ZnodeName::make(prefix, kFirstUnusableSequence).text, std::string("unreadable")}) {
    for (const bool first : {false, true}) {
      if (first && fsm.is_counting_children()) continue;
      for (const bool lease : {false, true}) {
        inputs.push_back(
            {"on_created", "ok " + name, [=](AcquireFsm& machine) {
               return machine.on_created({Status::ok, kSessionA, name, kOwn, "", first}, lease);
             }});
      }
    }
  }
  add_failures(inputs, "on_created", [](AcquireFsm& machine, Status status) {
    return machine.on_created({status, kSessionA, "", {}, ""}, true);
  });
}

/// If the reply to the create is outstanding, the count failed: requests are answered in order,
/// except those that were not sent.
void add_counted(Inputs& inputs, const Explored& from) {
  add_failures(inputs, "on_counted", [](AcquireFsm& machine, Status status) {
    return machine.on_counted({status, kSessionA, {}, 0}, true);
  });
  if (!from.create_answered) return;
  for (const SessionId session : {kSessionA, kSessionB}) {
    for (const FencingToken last : {kOwn, kNewer}) {
      for (const int children : {1, 2}) {
        for (const bool lease : {false, true}) {
          inputs.push_back(
              {"on_counted", "ok", [=](AcquireFsm& machine) {
                 return machine.on_counted({Status::ok, session, last, children}, lease);
               }});
        }
      }
    }
  }
}

void add_list(Inputs& inputs, const std::string& prefix, const Children& children,
              FencingToken parent, const PermitsAnswer& permits, Sequence next) {
  const auto candidates = static_cast<std::size_t>(std::ranges::count_if(
      children, [&](const std::string& child) { return child.starts_with(prefix); }));
  for (const bool lease : {false, true}) {
    const auto give = [=](AcquireFsm& machine) {
      return machine.on_listed({Status::ok, parent, children, "", permits, next}, lease);
    };
    inputs.push_back({.name = "on_listed",
                      .answer = "ok",
                      .give = give,
                      .candidates = candidates,
                      .permits = permits.status});
  }
}

void add_listed(Inputs& inputs, const Explored& from) {
  const AcquireFsm& fsm = from.fsm;
  add_failures(inputs, "on_listed", [](AcquireFsm& machine, Status status) {
    const PermitsAnswer permits{.status = status, .session = kSessionA};
    return machine.on_listed({status, {}, {}, "", permits}, true);
  });
  const bool is_early = fsm.state() == State::enqueuing && !from.create_answered;
  if (is_early || !awaits(fsm, "on_listed")) return;
  const std::string& own = fsm.node().name();
  const std::string prefix = fsm.present_rule().prefix();
  const std::string marker = DelayMarker::make(std::chrono::seconds(7), {70}, {3}).name;
  const std::string other_marker = DelayMarker::make(std::chrono::seconds(7), {71}, {4}).name;
  const Children others{ZnodeName::make(prefix, {8}).text, ZnodeName::make(prefix, {9}).text};
  std::vector<PermitsAnswer> counts{{.session = kSessionA, .data = "4"}};
  const bool drains = fsm.state() == State::draining;
  if (fsm.present_rule().shares_count() && !drains) {
    for (const Status status : kAllStatuses) {
      counts.push_back({status, kSessionA});
      counts.push_back({status, kSessionB});
    }
  }
  for (const PermitsAnswer& permits : counts) {
    for (const Sequence next : {Sequence{}, kFirstUnusableSequence}) {
      if (!drains && !is_usable(next)) continue;
      for (const Children& children :
           {Children{own}, Children{node(4), own}, Children{marker, own},
            Children{marker, other_marker, own}, Children{marker}, Children{},
            Children{permits_prefix(1, 9) + "0000000003", own}, Children{"config"},
            Children{std::string(kCountNode)}, others}) {
        add_list(inputs, prefix, children, kOlder, permits, next);
      }
    }
    add_list(inputs, prefix, {own}, kNewer, permits, {});
  }
}

void add_inspected(Inputs& inputs, const AcquireFsm& fsm) {
  for (const std::string& attempt : {fsm.attempt().text(), std::string("other.1")}) {
    for (const SessionId owner : {kSessionA, kSessionB}) {
      const std::string data = data_of(attempt);
      inputs.push_back({"on_inspected", "ok", [=](AcquireFsm& machine) {
                          return machine.on_inspected({Status::ok, data, owner, kOwn, ""});
                        }});
    }
  }
  add_failures(inputs, "on_inspected", [](AcquireFsm& machine, Status status) {
    return machine.on_inspected({status, "", {}, {}, ""});
  });
}

void add_watched(Inputs& inputs, const Explored& from) {
  for (const std::string& node : from.fsm.predecessors().nodes()) {
    for (const std::string& data : {data_of("other"), data_of("other", false), std::string("4")}) {
      for (const FencingToken token : {kOlder, kNewer}) {
        const auto give = [=](AcquireFsm& machine) {
          return machine.on_watched(node, {Status::ok, token, data, ""});
        };
        const bool is_newer = token == kNewer && node != kCountNode;
        inputs.push_back({.name = "on_watched",
                          .answer = "ok " + data + (is_newer ? " newer" : ""),
                          .give = give,
                          .node = node,
                          .is_newer = is_newer});
      }
    }
    const auto failed = [node](AcquireFsm& machine, Status status) {
      return machine.on_watched(node, {status, {}, "", ""});
    };
    add_failures(inputs, "on_watched", failed, node);
  }
}

void add_events(Inputs& inputs, const Explored& from) {
  const auto add = [&](std::string name, auto give) {
    inputs.push_back({std::move(name), "", give});
  };
  for (const bool ended : {false, true}) {
    add("start", [ended](AcquireFsm& fsm) { return fsm.start(ended); });
  }
  for (const std::string& node : from.active) {
    const auto deleted = [=](AcquireFsm& fsm) { return fsm.on_predecessor_deleted(node); };
    inputs.push_back(
        {.name = "on_predecessor_deleted", .answer = "", .give = deleted, .node = node});
    for (const bool lease : {false, true}) {
      const auto changed = [=](AcquireFsm& fsm) {
        return fsm.on_predecessor_released(node, lease);
      };
      inputs.push_back(
          {.name = "on_predecessor_released", .answer = "", .give = changed, .node = node});
    }
  }
  add("on_session_ended", [](AcquireFsm& fsm) { return fsm.on_session_ended(kSessionA); });
  add("on_own_node_deleted", [](AcquireFsm& fsm) { return fsm.on_own_node_deleted(); });
  add("on_pause_over", [](AcquireFsm& fsm) { return fsm.on_pause_over(); });
  add("on_delay_over", [](AcquireFsm& fsm) { return fsm.on_delay_over(); });
  add("withdraw", [](AcquireFsm& fsm) { return fsm.withdraw(); });
  if (from.fsm.state() != State::enqueuing || from.create_answered) return;
  if (!from.withdrawn) return;
  add("on_create_withdrawn", [](AcquireFsm& fsm) {
    fsm.on_create_withdrawn();
    return AcquireEffects{};
  });
}

}  // namespace

bool awaits(const AcquireFsm& fsm, std::string_view reply) {
  switch (fsm.state()) {
    case State::enqueuing:
      return reply == "on_created" ||
             (fsm.is_counting_children() &&
              reply == (fsm.present_rule().shares_count() ? "on_listed" : "on_counted"));
    case State::making_parents:
    case State::proving:
    case State::creating_count:
    case State::confirming:
    case State::marking:
    case State::clearing:
    case State::removing_path: return reply == "on_done";
    case State::recovering:
    case State::listing:
    case State::draining: return reply == "on_listed";
    case State::inspecting: return reply == "on_inspected";
    case State::moving: return reply == "on_created";
    case State::arming: return reply == "on_watched";
    case State::idle:
    case State::waiting:
    case State::pausing:
    case State::delaying:
    case State::granted:
    case State::ended: return false;
  }
  return false;
}

Inputs inputs_of(const Explored& from) {
  Inputs inputs;
  add_created(inputs, from.fsm);
  add_counted(inputs, from);
  add_listed(inputs, from);
  add_inspected(inputs, from.fsm);
  add_watched(inputs, from);
  for (const bool lease : {false, true}) {
    add_statuses(inputs, "on_done", [lease](AcquireFsm& fsm, Status status) {
      return fsm.on_done({status, ""}, lease);
    });
  }
  // One example shows that a reply is ignored that the state does not await.
  std::set<std::string> ignored;
  std::erase_if(inputs, [&](const Input& input) {
    return !awaits(from.fsm, input.name) && !ignored.insert(input.name).second;
  });
  add_events(inputs, from);
  return inputs;
}

std::string status_after(const Explored& from, const Input& input) {
  if (input.answer.empty()) return "";
  const AcquireFsm& fsm = from.fsm;
  std::string own = name_of(input.status);
  const bool enqueues = fsm.state() == State::enqueuing;
  const bool reads_count =
      (enqueues || fsm.state() == State::listing) && fsm.present_rule().shares_count();
  if (enqueues && input.name == "on_created" && own != "ok") own.insert(0, "create: ");
  if (reads_count && own == "ok" && input.permits != Status::ok) {
    own = "permit count: " + name_of(input.permits);
  }
  const auto rank = [](const std::string& status) {
    if (status == "ok" || status == "no_node") return status == "ok" ? 0 : 1;
    return status.starts_with("create: ") ? 3 : 2;
  };
  return rank(own) > rank(from.status) ? own : from.status;
}

std::string fact_of(const Explored& from) {
  if (from.withdrawn || from.failed) return ", withdrawn";
  return from.own_node_deleted ? ", own znode deleted" : "";
}

std::string transitions_page() {
  std::ifstream file(std::string(ZKLOCK_SOURCE_DIR "/").append(kTransitionsPage));
  return {std::istreambuf_iterator<char>(file), {}};
}

std::set<std::string> known_pairs() {
  std::set<std::string> pairs;
  std::istringstream page(transitions_page());
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("| ")) continue;
    const std::string state = line.substr(2, line.find(" |") - 2);
    static const std::regex kEffects(" \\([^)]*\\)");
    const std::string cell = line.substr(line.rfind("| ", line.size() - 2) + 2);
    std::istringstream next(std::regex_replace(cell, kEffects, ""));
    for (std::string name; next >> name && name != "|";) {
      if (name.ends_with(',')) name.pop_back();
      pairs.insert(state + " -> " + name);
    }
  }
  return pairs;
}

}  // namespace zklock::core::acquire_test
