// SPDX-License-Identifier: Apache-2.0
// The programs, as the child of a fork() sees them.
#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include "tests/model/simulator/leader.h"
#include "tests/model/simulator/users.h"
#include "zklock/error.h"

namespace zklock::simulator {

namespace {

std::uint64_t requests_of(Universe& universe) {
  std::uint64_t sum = 0;
  for (const auto& process : universe.processes()) {
    for (const auto& line : process->lines()) {
      sum += line->coordinator.requests() + line->coordinator.watch_removals();
    }
  }
  return sum;
}

bool is_refused(LockObject& object) {
  try {
    object.acquire({}, {}, [](const Got&) {});
  } catch (const Error& error) {
    return error.errc() == Errc::forked;
  }
  return false;
}

}  // namespace

bool Users::child_has_something() const {
  return std::ranges::any_of(live_, [this](const Call* call) {
    return std::ranges::any_of(call->parts, [this, call](const Call::Part& part) {
      return state_of(*call, part) != HoldState::lost;
    });
  });
}

// Returns an action of the child that the library must prevent. Returns null if there is none.
const char* Users::misdeed_of_child() {
  history_writer_.on_event = nullptr;
  const std::uint64_t requests = requests_of(universe_);
  if (child_has_something()) return "the child of a fork() holds a lock";
  for (Program& program : programs_) {
    for (const auto& object : program.objects) {
      if (object && !program.process->closed() && !is_refused(*object)) {
        return "the child of a fork() may lock";
      }
    }
  }
  for (const auto& call : calls_) {
    call->got = {};
    call->leadership = {};
    call->stop.request_stop();
  }
  for (Program& program : programs_) program = {};
  for (const auto& process : universe_.processes()) {
    for (const auto& line : process->lines()) {
      const bool closed = line->coordinator.is_closed();
      line->client->close();
      if (line->coordinator.is_closed() != closed) return "the child of a fork() closes a session";
    }
  }
  return requests_of(universe_) == requests ? nullptr : "the child of a fork() sends a request";
}

void Users::fork_process() {
  constexpr unsigned kTimeout = 60;  // seconds
  int ends[2] = {};
  if (::pipe(ends) != 0) throw std::runtime_error("there is no pipe");
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("there is no process");
  if (child == 0) {
    ::alarm(kTimeout);
    std::string said = "an exception leaves the child of a fork()";
    try {
      const char* const misdeed = misdeed_of_child();
      said = misdeed ? misdeed : "nothing";
    } catch (...) {  // the text says so
    }
    ::_exit(::write(ends[1], said.data(), said.size()) > 0 ? 0 : 1);
  }
  ::close(ends[1]);
  std::string said(80, 0);
  const auto size = ::read(ends[0], said.data(), said.size());
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  said.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  if (said == "nothing") return;
  if (said.empty()) said = "the child of a fork() says nothing";
  history_writer_.note({.kind = Event::Kind::left, .text = said});
}

}  // namespace zklock::simulator
