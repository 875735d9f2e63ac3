// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/io/guardian.h"

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "zklock/cli/core/failure.h"
#include "zklock/cli/core/kill_schedule.h"

namespace zklock::cli {

GuardianMemory::GuardianMemory() {
  void* const memory =
      ::mmap(nullptr, sizeof(Content), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw system_failure("mmap");
  content_ = ::new (memory) Content;
}

GuardianMemory::~GuardianMemory() {
  ::munmap(content_, sizeof(Content));
}

Guardian::Guardian(const GuardedCommand& command) : inherited_(children_of(::getpid())) {
  check_process_tree();
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) throw system_failure("prctl");
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    throw system_failure("socketpair");
  }
  socket_ = UniqueFd(ends[0]);
  UniqueFd other(ends[1]);
  const pid_t zklock = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) throw system_failure("fork");
  if (pid_ == 0) {
    socket_.reset();
    be_guardian(command, std::move(other), zklock, memory_);
  }
}

int Guardian::start(std::string_view variables, Instant bound, Duration session_timeout,
                    Duration grace) noexcept {
  if (variables.size() >= GuardianMemory::kMostVariables) return E2BIG;
  *std::ranges::copy(variables, memory_.variables()).out = '\0';
  memory_.set_limit(KillSchedule::kill_limit_of(bound, session_timeout));
  return send_message(socket_.get(), Order{.kind = Order::Kind::start, .grace = grace});
}

void Guardian::bound(Instant bound, Duration session_timeout) noexcept {
  const Instant limit = KillSchedule::kill_limit_of(bound, session_timeout);
  const bool is_earlier = limit < memory_.limit();
  memory_.set_limit(limit);
  // The guardian sleeps until the old limit, and reads a later one then.
  if (is_earlier) send({.kind = Order::Kind::wake});
}

std::optional<Notice> Guardian::next_notice() {
  return at_end_ ? std::nullopt : receive_message<Notice>(socket_.get(), at_end_);
}

int Guardian::kill_descendants() const {
  return signal_descendants(pid_, SIGKILL).count();
}

bool Guardian::sweep_orphans() {
  orphans_ = signal_descendants(::getpid(), SIGKILL, inherited_);
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
  const std::vector<pid_t> left = children_of(::getpid());
  return std::ranges::all_of(
      left, [this](pid_t pid) { return std::ranges::find(inherited_, pid) != inherited_.end(); });
}

}  // namespace zklock::cli
