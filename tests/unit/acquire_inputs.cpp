// SPDX-License-Identifier: Apache-2.0
#include "acquire_inputs.h"

#include <algorithm>
#include <chrono>
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
  return sort == StatusSort::over ? "over" : std::string(core::to_string(status));
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
      if (first && fsm.counts_children()) continue;
      for (const bool lease : {false, true}) {
        inputs.push_back(
            {"on_created", "ok " + name, [=](AcquireFsm& machine) {
               return machine.on_created({Status::ok, kSessionA, name, kOwn, "", first}, lease);
             }});
      }
    }
    inputs.push_back({"on_moved", "ok " + name, [=](AcquireFsm& machine) {
                        return machine.on_moved({Status::ok, kSessionA, name, kOwn, ""});
                      }});
  }
  add_failures(inputs, "on_created", [](AcquireFsm& machine, Status status) {
    return machine.on_created({status, kSessionA, "", {}, ""}, true);
  });
  add_failures(inputs, "on_moved", [](AcquireFsm& machine, Status status) {
    return machine.on_moved({status, kSessionA, "", {}, ""});
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
    inputs.push_back({.name = "on_listed", .answer = "ok", .give = give, .candidates = candidates});
  }
}

void add_listed(Inputs& inputs, const Explored& from) {
  const AcquireFsm& fsm = from.fsm;
  add_failures(inputs, "on_listed", [](AcquireFsm& machine, Status status) {
    const PermitsAnswer permits{.status = status, .session = kSessionA};
    return machine.on_listed({status, {}, {}, "", permits}, true);
  });
  if (fsm.state() == State::enqueuing && !from.create_answered) return;
  const std::string& own = fsm.own_name();
  const std::string prefix = fsm.present_rule().prefix();
  const std::string marker = DelayMarker::make(std::chrono::seconds(7), {70}, {3}).name;
  const PermitsAnswer permits{.session = kSessionA, .data = "4"};
  for (const Sequence next : {Sequence{}, kFirstUnusableSequence}) {
    for (const Children& children :
         {Children{own}, Children{node(4), own}, Children{marker, own}, Children{marker},
          Children{}, Children{permits_prefix(1, 9) + "0000000003", own}, Children{"config"},
          Children{std::string(kCountNode)}}) {
      add_list(inputs, prefix, children, kOlder, permits, next);
    }
  }
  const Children others{ZnodeName::make(prefix, {8}).text, ZnodeName::make(prefix, {9}).text};
  add_list(inputs, prefix, others, kOlder, permits, {});
  add_list(inputs, prefix, {own}, kNewer, permits, {});
  add_list(inputs, prefix, {own}, kOlder, {.session = kSessionB, .data = "4"}, {});
  add_list(inputs, prefix, {own}, kOlder, {.session = kSessionA, .data = "many"}, {});
  for (const Status status : kAllStatuses) {
    add_list(inputs, prefix, {own}, kOlder, {.status = status, .session = kSessionA, .data = "4"},
             {});
  }
}

void add_inspected(Inputs& inputs, const AcquireFsm& fsm) {
  for (const std::string& attempt : {fsm.attempt(), std::string("other.1")}) {
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
  for (const std::string& node : from.fsm.watched()) {
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
      const auto changed = [=](AcquireFsm& fsm) { return fsm.on_predecessor_changed(node, lease); };
      inputs.push_back(
          {.name = "on_predecessor_changed", .answer = "", .give = changed, .node = node});
    }
  }
  for (const bool lease : {false, true}) {
    if (!from.fsm.waits_for_release()) break;
    add("on_predecessor_released",
        [=](AcquireFsm& fsm) { return fsm.on_predecessor_released(lease); });
  }
  add("on_session_ended", [](AcquireFsm& fsm) { return fsm.on_session_ended(kSessionA); });
  add("on_own_node_deleted", [](AcquireFsm& fsm) { return fsm.on_own_node_deleted(); });
  add("on_resume", [](AcquireFsm& fsm) { return fsm.on_resume(); });
  add("on_delay_over", [](AcquireFsm& fsm) { return fsm.on_delay_over(); });
  add("on_delay_lasts", [](AcquireFsm& fsm) { return fsm.on_delay_lasts(); });
  add("withdraw", [](AcquireFsm& fsm) { return fsm.withdraw(); });
  if (from.fsm.state() != State::enqueuing || from.create_answered) return;
  const auto no_effects = [](auto command) {
    return [command](AcquireFsm& fsm) {
      (fsm.*command)();
      return AcquireEffects{};
    };
  };
  add("on_count_not_sent", no_effects(&AcquireFsm::on_count_not_sent));
  if (from.withdrawn) add("on_create_withdrawn", no_effects(&AcquireFsm::on_create_withdrawn));
}

/// Returns whether the state awaits the reply.
bool awaits(State state, std::string_view reply) {
  switch (state) {
    case State::enqueuing:
      return reply == "on_created" || reply == "on_counted" || reply == "on_listed";
    case State::making_parents: return reply == "on_parents_created";
    case State::proving:
    case State::confirming: return reply == "on_checked";
    case State::recovering:
    case State::listing:
    case State::draining: return reply == "on_listed";
    case State::inspecting: return reply == "on_inspected";
    case State::moving: return reply == "on_moved";
    case State::seeding: return reply == "on_count_seeded";
    case State::arming: return reply == "on_watched";
    case State::marking: return reply == "on_marked";
    case State::clearing: return reply == "on_cleared";
    case State::removing_parent: return reply == "on_parent_removed";
    case State::skipping: return reply == "on_number_skipped";
    case State::idle:
    case State::waiting:
    case State::pausing:
    case State::delaying:
    case State::granted:
    case State::ended: return false;
  }
  return false;
}

}  // namespace

Inputs inputs_of(const Explored& from) {
  Inputs inputs;
  add_created(inputs, from.fsm);
  add_counted(inputs, from);
  add_listed(inputs, from);
  add_inspected(inputs, from.fsm);
  add_watched(inputs, from);
  const auto add = [&](const std::string& name, auto answer) {
    add_statuses(inputs, name,
                 [answer](AcquireFsm& fsm, Status status) { return (fsm.*answer)(status, ""); });
  };
  const auto add_with_lease = [&](const std::string& name, auto answer) {
    for (const bool lease : {false, true}) {
      add_statuses(inputs, name, [answer, lease](AcquireFsm& fsm, Status status) {
        return (fsm.*answer)(status, lease, "");
      });
    }
  };
  add("on_parents_created", &AcquireFsm::on_parents_created);
  add("on_count_seeded", &AcquireFsm::on_count_seeded);
  add("on_parent_removed", &AcquireFsm::on_parent_removed);
  add("on_number_skipped", &AcquireFsm::on_number_skipped);
  add("on_cleared", &AcquireFsm::on_cleared);
  add_with_lease("on_checked", &AcquireFsm::on_checked);
  add_with_lease("on_marked", &AcquireFsm::on_marked);
  // One example shows that a reply is ignored that the state does not await.
  std::set<std::string> ignored;
  std::erase_if(inputs, [&](const Input& input) {
    return !awaits(from.fsm.state(), input.name) && !ignored.insert(input.name).second;
  });
  add_events(inputs, from);
  return inputs;
}

}  // namespace zklock::core::acquire_test
