// SPDX-License-Identifier: Apache-2.0
// The promise: a resource that refuses lower tokens is safe under any timing. Here a holder is
// paused between its last check of the lock and its write. Meanwhile another contender is granted
// and writes. Then the first holder continues, and its write is refused.

#include <array>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <stdexcept>
#include <string>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zklock/zklock.h>

#include "promise.h"

namespace {

using namespace std::chrono_literals;
using example::promise;
constexpr const char* kPath = "/locks/ledger";

// The resource that the lock protects: a database, a file server, ... It stores the highest token
// and refuses lower ones. Check and write must be one step, for example
//   UPDATE ledger SET entry = ?, token = ? WHERE token <= ?
class Ledger {
 public:
  bool write(zklock::FencingToken token, std::int64_t entry) {
    if (token < highest_) return false;
    highest_ = token;
    entry_ = entry;
    return true;
  }
  std::int64_t entry() const { return entry_; }

 private:
  zklock::FencingToken highest_;
  std::int64_t entry_ = 0;
};

// A request of the other process to the ledger.
struct Request {
  std::int64_t token;
  std::int64_t entry;
};

template <class T>
void send(int fd, const T& value) {
  if (::send(fd, &value, sizeof value, MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof value)) {
    throw std::runtime_error("the other process has ended");
  }
}

template <class T>
T receive(int fd) {
  T value{};
  if (::recv(fd, &value, sizeof value, MSG_WAITALL) != static_cast<ssize_t>(sizeof value)) {
    throw std::runtime_error("the other process has ended");
  }
  return value;
}

zklock::ClientOptions options(const std::string& hosts) {
  zklock::ClientOptions options;
  options.hosts = hosts;
  options.session_timeout = 4s;  // during a pause of the holder, the others wait for this time
  return options;
}

// The process that will be paused.
void first_holder(const std::string& hosts, int ledger) {
  zklock::Client client(options(hosts));
  zklock::ReentrantMutex mutex(client, kPath);
  const zklock::Hold hold = mutex.acquire({.deadline = 30s});
  promise(static_cast<bool>(hold), "the first holder is granted");

  send(ledger, Request{hold.token().zxid, 100});
  promise(receive<bool>(ledger), "its write is accepted");

  (void)receive<bool>(ledger);  // the process is paused here and does not notice it
  send(ledger, Request{hold.token().zxid, 200});
  promise(!receive<bool>(ledger), "its write after the pause is refused");
  promise(hold.state() == zklock::HoldState::lost, "the state of its hold is lost");
}

void second_holder(const std::string& hosts, Ledger& ledger) {
  zklock::Client client(options(hosts));
  zklock::ReentrantMutex mutex(client, kPath);
  const zklock::Hold hold = mutex.acquire({.deadline = 30s});
  promise(static_cast<bool>(hold), "with the first holder paused, a second one is granted");
  promise(ledger.write(hold.token(), 300), "its write is accepted");
}

// Answers one request of the first holder.
void serve(int fd, Ledger& ledger) {
  const auto request = receive<Request>(fd);
  send(fd, ledger.write(zklock::FencingToken{request.token}, request.entry));
}

void fenced_resource(const std::string& hosts) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) {
    throw std::runtime_error("no socket pair");
  }
  // Forked before a Client exists: a child process cannot use the Client of its parent.
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("no fork");
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::close(ends[0]);
    int status = 1;
    try {
      first_holder(hosts, ends[1]);
      status = 0;
    } catch (const std::exception& e) {
      std::cerr << "first holder: " << e.what() << std::endl;
    }
    std::cout.flush();
    ::_exit(status);
  }
  ::close(ends[1]);
  int status = 0;
  Ledger ledger;
  try {
    serve(ends[0], ledger);
    ::kill(child, SIGSTOP);
    ::waitpid(child, &status, WUNTRACED);
    second_holder(hosts, ledger);
    ::kill(child, SIGCONT);
    send(ends[0], true);
    serve(ends[0], ledger);
    promise(ledger.entry() == 300, "the ledger has what the second holder wrote");
  } catch (...) {
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
    throw;
  }
  ::waitpid(child, &status, 0);
  ::close(ends[0]);
  promise(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the first holder saw it all as promised");
}

}  // namespace

int main(int argc, char** argv) {
  return example::run(argc, argv, fenced_resource);
}
