// SPDX-License-Identifier: Apache-2.0
// The programs: their objects and their calls.
#include "tests/model/simulator/users.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "tests/model/simulator/leader.h"
#include "zklock/core/child_nodes.h"
#include "zklock/engine/contender.h"
#include "zklock/engine/path_lock.h"
#include "zklock/engine/pending_acquire.h"
#include "zklock/error.h"

namespace zklock::simulator {

using std::chrono::microseconds;
using std::chrono::milliseconds;

namespace {

/// Returns whether calls of equal owners share one hold.
bool nests(LockClass kind) {
  switch (kind) {
    case LockClass::reentrant:
    case LockClass::shared:
    case LockClass::priority:
    case LockClass::multi:
    case LockClass::quorum: return true;
    case LockClass::mutex:
    case LockClass::semaphore:
    case LockClass::counted:
    case LockClass::latch:
    case LockClass::election:
    case LockClass::observer:
    case LockClass::election_observer: return false;
  }
  return false;
}

bool is_leader(LockClass kind) {
  return kind == LockClass::latch || kind == LockClass::election;
}

bool is_observer(LockClass kind) {
  return kind == LockClass::observer || kind == LockClass::election_observer;
}

std::int64_t errc_of(const std::exception_ptr& error) {
  if (!error) return 0;
  try {
    std::rethrow_exception(error);
  } catch (const Error& e) {
    return e.code().value();
  } catch (const std::exception&) {
    return -1;
  }
}

}  // namespace

Users::Users(Universe& universe, HistoryWriter& history_writer, const Plan& plan)
    : universe_(universe), history_writer_(history_writer), plan_(plan), fenced_(1024) {
  for (const ObjectPlan& object : plan.setup.objects) declare_permits(object);
  universe_.on_message = [this](SimProcess& receiver) {
    if (canceller_ != &receiver) return;
    canceller_ = nullptr;
    cancel_one(receiver);
  };
  programs_.resize(static_cast<std::size_t>(plan.setup.slots));
  for (int slot = 0; slot < plan.setup.slots; ++slot) {
    Program& program = programs_[static_cast<std::size_t>(slot)];
    program.process = &universe_.start_process(slot);
    furnish(program);
  }
}

Users::~Users() = default;

void Users::declare_permits(const ObjectPlan& object) {
  for (int path = 0; object.kind == LockClass::multi && path < 2; ++path) {
    if (part_kind(object, path).access != Access::permits) continue;
    history_writer_.note({.kind = Event::Kind::permits_set,
                          .resource = resource_of(0, path),
                          .number = kPermitsOfPart});
  }
  if (object.kind != LockClass::semaphore && object.kind != LockClass::counted) return;
  history_writer_.note({.kind = Event::Kind::permits_set,
                        .resource = resource_of(0, object.path),
                        .number = object.number});
}

void Users::permits_went(const std::string& path) {
  for (const ObjectPlan& object : plan_.setup.objects) {
    if (path_of(object.path) == path) declare_permits(object);
  }
}

void Users::furnish(Program& program) {
  const std::size_t objects = plan_.setup.objects.size();
  program.objects.resize(objects);
  program.leaders.resize(objects);
  program.observers.resize(objects);
  for (auto& owner : program.owners) owner = Owner::unique();
  for (std::size_t i = 0; i < objects; ++i) make_object(program, i);
}

void Users::make_object(Program& program, std::size_t i) {
  const ObjectPlan& object = plan_.setup.objects[i];
  SimProcess& process = *program.process;
  if (is_leader(object.kind)) {
    program.leaders[i] = std::make_unique<Leader>(*this, process, object);
  } else if (is_observer(object.kind)) {
    program.observers[i] =
        std::make_unique<ObserverModel>(history_writer_, process.client(), object, ++last_id_);
  } else {
    program.objects[i] =
        std::make_unique<LockObject>(process, object, [this, &process](const LockEvent&) {
          if (universe_.now() < process.listeners_throw_until) {
            ++listeners_thrown_;
            throw std::runtime_error("a listener throws");
          }
        });
  }
}

void Users::replace(int slot) {
  Program& program = programs_[static_cast<std::size_t>(slot)];
  if (program.process->dead()) {
    killed_programs_.push_back(std::move(program));
    program = {};
  } else {
    program.leaders.clear();
    program.objects.clear();
    program.observers.clear();
  }
  program.process = &universe_.start_process(slot);
  furnish(program);
}

void Users::remake(int slot, int object) {
  Program& program = programs_[static_cast<std::size_t>(slot)];
  const auto i = static_cast<std::size_t>(object) % plan_.setup.objects.size();
  if (!program.process->runs() || program.process->closed()) return;
  program.leaders[i].reset();
  program.objects[i].reset();
  program.observers[i].reset();
  make_object(program, i);
}

void Users::destroy_objects() {
  for (Program& program : programs_) {
    if (program.process->dead()) continue;
    program.leaders.clear();
    program.objects.clear();
  }
}

void Users::look_through_observers() {
  for (Program& program : programs_) {
    if (program.process->dead() || program.process->closed() || program.process->refused())
      continue;
    for (const auto& observer : program.observers) {
      if (!observer || observer->sees_no_holder()) continue;
      history_writer_.note(
          {.kind = Event::Kind::left, .text = "an observer's state still has a holder or leader"});
    }
  }
}

void Users::drop_observers() {
  for (Program& program : programs_) {
    if (!program.process->dead()) program.observers.clear();
  }
}

void Users::act(const PlanStep& step) {
  switch (step.act) {
    case Act::acquire: return acquire(step);
    case Act::fault: return;
    case Act::set_permits: return set_permits(step);
    case Act::request_release:
    case Act::force_release: return request_release(step);
    case Act::lead:
    case Act::resign: break;
  }
  Program& program = programs_[static_cast<std::size_t>(step.slot)];
  const auto object = static_cast<std::size_t>(step.object);
  if (!program.process->runs() || program.process->closed() || !program.leaders[object]) return;
  if (step.act == Act::lead) {
    program.leaders[object]->lead(microseconds(step.hold));
  } else {
    remake(step.slot, step.object);
  }
}

void Users::acquire(const PlanStep& step) {
  Program& program = programs_[static_cast<std::size_t>(step.slot)];
  const auto object = static_cast<std::size_t>(step.object);
  if (winding_up_ || !program.process->runs() || program.process->closed() ||
      !program.objects[object])
    return;
  Call& call = new_call(*program.process, plan_.setup.objects[object], step);
  const bool is_thread = step.ending == Ending::locks;  // a thread is a unique owner
  const bool shared_owner = step.owner != 0 && nests(call.object.kind) && !is_thread;
  const auto owner = static_cast<std::size_t>(step.owner) % program.owners.size();
  call.owner = shared_owner ? program.owners[owner] : Owner::unique();
  call.owner_number = shared_owner ? program.process->number() * 10 + owner : 1000 + call.id;
  start(call, *program.objects[object]);
}

Call& Users::new_call(SimProcess& process, const ObjectPlan& object, const PlanStep& step) {
  calls_.push_back(std::make_unique<Call>());
  Call& call = *calls_.back();
  call.id = ++last_id_;
  call.process = &process;
  call.object = object;
  call.step = step;
  call.owner_number = 1000 + call.id;
  return call;
}

void Users::start(Call& call, LockObject& object) {
  auto& clock = call.process->clock();
  AcquireOptions options;
  options.owner = call.owner;
  options.stop = call.stop.get_token();
  std::int64_t deadline = 0;
  if (call.step.wait == 0) {
    options.deadline = Deadline::passed();
  } else if (call.step.wait > 0) {
    options.deadline = Deadline(clock.now() + microseconds(call.step.wait));
    deadline = clock.showing(options.deadline.at()).time_since_epoch().count();
  }
  const LockClass kind = call.object.kind;
  history_writer_.note({.kind = Event::Kind::wanted,
                        .flag = kind == LockClass::multi || kind == LockClass::quorum,
                        .access = call.step.reads != 0 ? Access::shared : Access::exclusive,
                        .hold = call.id,
                        .resource = resource_of(0, call.object.path),
                        .owner = call.owner_number,
                        .permits = call.step.number,
                        .number = deadline});
  ++waiting_;
  try {
    if (call.step.ending == Ending::locks) {
      lock(call, std::move(options));
    } else {
      object.acquire(call.step, options, [this, &call](Got got) { ended(call, std::move(got)); });
    }
  } catch (const std::exception&) {
    ended(call, {.error = std::current_exception()});
    return;
  }
  if (call.step.stop < 0) return;
  after(*call.process, call.step.stop, [&call] { call.stop.request_stop(); });
}

// Does what lock() does, without its object and without the blocked thread.
void Users::lock(Call& call, AcquireOptions options) {
  detail::PendingAcquire::start(engine_of(call),
                                {.owner = *options.owner,
                                 .time_limit = {options.deadline, call.process->clock().now()},
                                 .kind = core::CountKind::lock,
                                 .lock_delay = milliseconds(call.object.lock_delay),
                                 .done =
                                     [this, &call](const detail::AcquireOutcome& outcome) {
                                       after(*call.process, 0, [this, &call, outcome] {
                                         Got got;
                                         if (outcome.contender)
                                           got.hold =
                                               outcome.contender->make_hold(core::CountKind::lock);
                                         if (outcome.error)
                                           got.error = std::make_exception_ptr(*outcome.error);
                                         ended(call, std::move(got));
                                       });
                                     }},
                                options.stop);
}

void Users::after(SimProcess& process, std::int64_t micros, std::function<void()> task) {
  auto& clock = process.clock();
  clock.at(clock.now() + microseconds(micros), std::move(task));
}

void Users::ended(Call& call, Got got) {
  if (!call.ended) --waiting_;
  call.ended = true;
  history_writer_.note({.kind = Event::Kind::ended,
                        .flag = universe_.now() <= call.process->excused_until,
                        .hold = call.id,
                        .number = errc_of(got.error)});
  if (!got.hold && !got.composite) return;
  call.got = std::move(got);
  const HoldState state = call.got.composite ? call.got.composite.state() : call.got.hold.state();
  if (state == HoldState::lost) {
    call.got = {};
    return;
  }
  call.token = call.got.hold.token();
  name_parts(call);
  granted(call);
  if (call.step.ending == Ending::locks) return plan_ending(call);  // lock() has no handler
  if (std::exchange(thrower_, thrower_ == call.process ? nullptr : thrower_) == call.process ||
      call.step.ending == Ending::throws) {
    release_node(call);
    throw std::runtime_error("a handler throws");
  }
  plan_ending(call);
  if (closer_ == call.process) close_in_handler(*std::exchange(closer_, nullptr));
}

void Users::close_in_handler(SimProcess& process) {
  ++closed_by_handlers_;
  process.excused_until = Instant::max();
  process.close();
  universe_.clock().at(universe_.now(), [this, &process] {
    if (&this->process(process.slot()) == &process) replace(process.slot());
  });
}

bool Users::all_over() const {
  return live_.empty() && std::ranges::all_of(calls_, [](const auto& call) {
           return call->ended || call->process->dead();
         });
}

void Users::wind_up() {
  winding_up_ = true;
  for (const std::string& marker : markers_) universe_.ensemble(0).remove(marker);
  for (Program& program : programs_) {
    if (program.process->dead()) continue;
    for (auto& leader : program.leaders) {
      if (leader) leader->resign();
    }
  }
}

void Users::cancel_one(SimProcess& process) {
  for (const auto& call : calls_) {
    if (call->process != &process || call->ended) continue;
    call->stop.request_stop();
    return;
  }
}

void Users::set_permits(const PlanStep& step) {
  const std::string path = path_of(plan_.setup.objects[static_cast<std::size_t>(step.object)].path);
  SimEnsemble& servers = universe_.ensemble(0);
  static_cast<void>(servers.create_container("/locks"));
  static_cast<void>(servers.create_container(path));
  static_cast<void>(servers.create(path + "/count"));
  servers.set_data(path + "/count", std::to_string(step.number));
  history_writer_.note({.kind = Event::Kind::permits_set,
                        .resource = resource_of(0, step.object >= 0 ? path.back() - 'a' : 0),
                        .number = step.number});
}

// Requests a release, as another program would. Withdraws it after half a session timeout.
void Users::request_release(const PlanStep& step) {
  const auto& object = plan_.setup.objects[static_cast<std::size_t>(step.object)];
  SimEnsemble& servers = universe_.ensemble(0);
  const model::Node* const parent = servers.find(path_of(object.path));
  if (parent == nullptr || parent->children.empty()) return;
  std::vector<std::string> names;
  for (const std::string& name : parent->children) {
    if (core::ZnodeName::parse(name)) names.push_back(name);
  }
  if (names.empty()) return;
  std::ranges::sort(names);
  const auto target =
      core::ZnodeName::parse(names[static_cast<std::size_t>(step.salt) % names.size()]);
  const std::string marker =
      path_of(object.path) + "/" + core::release_request_node(target->sequence);
  const bool forces = step.act == Act::force_release;
  const auto data = forces ? core::kReleaseRequestForces : core::kReleaseRequestAsks;
  if (servers.create(marker, std::string(data)) != core::Status::ok) return;
  markers_.push_back(marker);
  universe_.clock().at(universe_.now() + milliseconds(plan_.setup.session_ms / 2),
                       [&servers, marker] { servers.remove(marker); });
}

}  // namespace zklock::simulator
