// SPDX-License-Identifier: Apache-2.0
// The programs, as a child sees them that was made by fork().
#include <algorithm>
#include <cstdint>
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
  return std::ranges::any_of(live_, [](const Call* call) {
    const bool hold = call->got.hold && call->got.hold.state() != HoldState::lost;
    const bool composite = call->got.composite && call->got.composite.state() != HoldState::lost;
    return hold || composite;
  });
}

// What it should not have been able to do; null: there is nothing.
const char* Users::misdeed_of_child() {
  const std::uint64_t requests = requests_of(universe_);
  if (child_has_something()) return "the child of a fork() holds a lock";
  for (Seat& seat : seats_) {
    for (const auto& object : seat.objects) {
      if (object && !seat.process->closed() && !is_refused(*object)) {
        return "the child of a fork() may lock";
      }
    }
  }
  for (const auto& call : calls_) {
    call->got = {};
    call->stop.request_stop();
  }
  for (Seat& seat : seats_) seat = {};
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
  constexpr unsigned patience = 60;  // seconds
  int to_parent[2] = {};
  if (::pipe(to_parent) != 0) return;
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(patience);
    const char* const misdeed = misdeed_of_child();
    const std::string said = misdeed ? misdeed : "nothing";
    const bool told = ::write(to_parent[1], said.data(), said.size()) > 0;
    ::_exit(told ? 0 : 1);
  }
  ::close(to_parent[1]);
  std::string said(80, 0);
  const auto size = child > 0 ? ::read(to_parent[0], said.data(), said.size()) : -1;
  ::close(to_parent[0]);
  if (child > 0) ::waitpid(child, nullptr, 0);
  said.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  if (said == "nothing") return;
  scribe_.note({.kind = Event::Kind::left,
                .text = said.empty() ? "a fork() whose child says nothing" : said});
}

}  // namespace zklock::simulator
