// SPDX-License-Identifier: Apache-2.0
// The promise: a guarded transaction is executed only while the lock znode of the hold exists. Here
// a holder is stopped (SIGSTOP) for longer than its session timeout. Meanwhile another contender is
// granted and writes. Then the first holder continues, and all its writes are refused.

#include <array>
#include <chrono>
#include <functional>
#include <iostream>
#include <optional>
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
using zklock::Errc;
using zklock::GuardedTransaction;

// Each run has names of its own, because the servers may have old data.
std::string unique_name() {
  return std::to_string(std::chrono::system_clock::now().time_since_epoch().count());
}
const std::string kLock = "/locks/stale_holder-" + unique_name();
const std::string kEntry = kLock + "-entry";

zklock::ClientOptions options(const std::string& hosts) {
  zklock::ClientOptions options;
  options.hosts = hosts;
  options.session_timeout = 4s;  // while the holder is stopped, the others wait for this time
  return options;
}

// Commits, and returns the error code of a refusal, or nullopt if the writes were executed.
std::optional<Errc> refused(const GuardedTransaction& transaction) {
  try {
    transaction.commit(30s);
    return std::nullopt;
  } catch (const zklock::Error& error) {
    std::cout << "  (" << error.what() << ")" << std::endl;
    return error.errc();
  }
}

// These two send and receive one byte between the processes.
void notify(int fd) {
  const char byte = 0;
  if (::send(fd, &byte, 1, MSG_NOSIGNAL) != 1)
    throw std::runtime_error("the other process has ended");
}
void await(int fd) {
  char byte = 0;
  if (::recv(fd, &byte, 1, 0) != 1) throw std::runtime_error("the other process has ended");
}

// The process that will be stopped.
void first_holder(const std::string& hosts, int other) {
  zklock::Client client(options(hosts));
  zklock::ReentrantMutex mutex(client, kLock);
  const zklock::Hold hold = mutex.acquire({.deadline = 30s});
  promise(static_cast<bool>(hold), "the first holder is granted");
  GuardedTransaction create(hold);
  create.create(kEntry, "by the first holder");
  promise(!refused(create), "its write is executed");

  // The holder has checked the lock and is about to write.
  GuardedTransaction late(hold);
  late.set(kEntry, "by a stale holder").create(kEntry + "-more");
  notify(other);
  await(other);  // the process is stopped here and does not notice it
  promise(refused(late) == Errc::lock_lost, "its write after the pause is refused");
  promise(hold.state() == zklock::HoldState::lost, "the state of its hold is lost");
}

void second_holder(const std::string& hosts, const std::function<void()>& let_the_first_go_on) {
  zklock::Client client(options(hosts));
  zklock::ReentrantMutex mutex(client, kLock);
  const zklock::Hold hold = mutex.acquire({.deadline = 30s});
  promise(static_cast<bool>(hold), "with the first holder stopped, a second one is granted");
  GuardedTransaction update(hold);
  update.set(kEntry, "by the second holder", 0);
  promise(!refused(update), "its write is executed");

  let_the_first_go_on();
  GuardedTransaction last(hold);
  last.check(kEntry, 1).remove(kEntry);
  promise(!refused(last), "no other process has written since");
  GuardedTransaction none(hold);
  none.remove(kEntry + "-more");
  promise(refused(none) == Errc::no_node, "nor was anything created");
}

void stale_holder(const std::string& hosts) {
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
  bool ended = false;
  try {
    await(ends[0]);
    ::kill(child, SIGSTOP);
    ::waitpid(child, &status, WUNTRACED);
    second_holder(hosts, [&] {
      ::kill(child, SIGCONT);
      notify(ends[0]);
      ::waitpid(child, &status, 0);
      ended = true;
      promise(WIFEXITED(status) && WEXITSTATUS(status) == 0,
              "the first holder saw it all as promised");
    });
  } catch (...) {
    if (!ended) {
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
    }
    throw;
  }
  ::close(ends[0]);
}

}  // namespace

int main(int argc, char** argv) {
  return example::run(argc, argv, stale_holder);
}
