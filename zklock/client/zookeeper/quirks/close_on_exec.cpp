// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/zookeeper/quirks/close_on_exec.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <pthread.h>

namespace zklock::client {
namespace {

/// Calls `visit` with each descriptor of the process and the name of its file, such as
/// "pipe:[4711]". Without a mounted /proc it calls nothing.
template <class Visit>
void for_each_descriptor(Visit visit) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc/self/fd", error), end;
       !error && entry != end; entry.increment(error)) {
    std::error_code closed_meanwhile;
    const auto name = std::filesystem::read_symlink(entry->path(), closed_meanwhile);
    if (!closed_meanwhile) visit(std::atoi(entry->path().filename().c_str()), name.native());
  }
}

/// The mutex of PipeCloseOnExec. fork() does not wait for it, because a host name may be resolved
/// under it. It guards no data, so the child makes it anew.
constinit Mutex opening_mutex;

// Registered when the library is loaded: no thread forks during the registration.
const bool kForksAreWatched =
    (::pthread_atfork(nullptr, nullptr, [] { std::construct_at(&opening_mutex); }), true);

void mark(int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFD);
  if (flags >= 0) ::fcntl(descriptor, F_SETFD, flags | FD_CLOEXEC);
}

}  // namespace

PipeCloseOnExec::PipeCloseOnExec() : exclusive_(opening_mutex), before_(candidates()) {}

// This reads the name instead of calling fstat(). The descriptor may be in use by another thread,
// and a race detector in the user's tests would report the call.
std::map<int, std::string> PipeCloseOnExec::candidates() {
  std::map<int, std::string> pipes;
  for_each_descriptor([&pipes](int descriptor, const std::string& name) {
    if (!name.starts_with("pipe:")) return;
    const int flags = ::fcntl(descriptor, F_GETFD);
    const int status = ::fcntl(descriptor, F_GETFL);
    if (flags < 0 || (flags & FD_CLOEXEC) != 0 || (status & O_NONBLOCK) == 0) return;
    pipes.emplace(descriptor, name);
  });
  return pipes;
}

void PipeCloseOnExec::mark() const {
  std::map<std::string, std::vector<int>> opened;
  for (const auto& [descriptor, pipe] : candidates()) {
    const auto earlier = before_.find(descriptor);
    if (earlier == before_.end() || earlier->second != pipe) opened[pipe].push_back(descriptor);
  }
  if (opened.size() != 1) return;
  for (const int descriptor : opened.begin()->second) client::mark(descriptor);
}

void mark_connections_close_on_exec(const sockaddr_storage& peer, socklen_t length) {
  for_each_descriptor([&](int descriptor, const std::string& name) {
    if (!name.starts_with("socket:")) return;
    sockaddr_storage other{};
    socklen_t its_length = sizeof other;
    if (::getpeername(descriptor, reinterpret_cast<sockaddr*>(&other), &its_length) != 0) return;
    if (its_length != length || std::memcmp(&other, &peer, length) != 0) return;
    client::mark(descriptor);
  });
}

}  // namespace zklock::client
