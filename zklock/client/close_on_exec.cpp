// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/close_on_exec.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>

namespace zklock::client {
namespace {

/// Calls `visit` with each descriptor of the process; with none where /proc is not mounted.
template <class Visit>
void for_each_descriptor(Visit visit) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc/self/fd", error), end;
       !error && entry != end; entry.increment(error)) {
    visit(std::atoi(entry->path().filename().c_str()));
  }
}

void mark(int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFD);
  if (flags >= 0) ::fcntl(descriptor, F_SETFD, flags | FD_CLOEXEC);
}

std::mutex& turns() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

PipeCloseOnExec::PipeCloseOnExec() : turn_(turns()), before_(candidates()) {}

std::map<int, PipeCloseOnExec::Pipe> PipeCloseOnExec::candidates() {
  std::map<int, Pipe> pipes;
  for_each_descriptor([&pipes](int descriptor) {
    struct stat stat {};
    if (::fstat(descriptor, &stat) != 0 || !S_ISFIFO(stat.st_mode)) return;
    const int flags = ::fcntl(descriptor, F_GETFD);
    const int status = ::fcntl(descriptor, F_GETFL);
    if (flags < 0 || (flags & FD_CLOEXEC) != 0 || (status & O_NONBLOCK) == 0) return;
    pipes.emplace(descriptor, Pipe(stat.st_dev, stat.st_ino));
  });
  return pipes;
}

void PipeCloseOnExec::mark() const {
  std::map<Pipe, std::vector<int>> opened;
  for (const auto& [descriptor, pipe] : candidates()) {
    const auto earlier = before_.find(descriptor);
    if (earlier == before_.end() || earlier->second != pipe) opened[pipe].push_back(descriptor);
  }
  if (opened.size() != 1) return;
  for (const int descriptor : opened.begin()->second) client::mark(descriptor);
}

void mark_connections_close_on_exec(const sockaddr_storage& peer, socklen_t length) {
  for_each_descriptor([&](int descriptor) {
    sockaddr_storage other{};
    socklen_t its_length = sizeof other;
    if (::getpeername(descriptor, reinterpret_cast<sockaddr*>(&other), &its_length) != 0) return;
    if (its_length != length || std::memcmp(&other, &peer, length) != 0) return;
    client::mark(descriptor);
  });
}

}  // namespace zklock::client
