// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <string>
#include <system_error>
#include <vector>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace example {

// The path of this program, to start a copy of it.
inline const std::string kOwnProgram = "/proc/self/exe";

// A child process. It is killed if the example ends first, even if the example is killed.
// REQUIRES: the thread that constructs it does not end before the child.
class Child {
 public:
  // `arguments` begins with the program. `output` is the descriptor of its standard output; -1:
  // that of the example.
  explicit Child(std::vector<std::string> arguments, int output = -1) {
    std::vector<char*> argv;
    argv.reserve(arguments.size() + 1);
    for (auto& a : arguments) argv.push_back(a.data());
    argv.push_back(nullptr);
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
    if (pid_ > 0) return;
    // Only async-signal-safe calls from here on: the parent can have other threads.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const bool has_parent = ::getppid() == parent;  // otherwise the signal would not come
    if (has_parent && (output < 0 || ::dup2(output, STDOUT_FILENO) >= 0)) {
      ::execv(argv[0], argv.data());
    }
    ::_exit(127);
  }
  ~Child() {
    if (!ended()) kill();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  bool ended() {
    if (!reaped_) reaped_ = ::waitpid(pid_, &status_, WNOHANG) == pid_;
    return reaped_;
  }
  // Sends SIGKILL and waits until the process has ended.
  void kill() {
    if (reaped_) return;
    ::kill(pid_, SIGKILL);
    reaped_ = ::waitpid(pid_, &status_, 0) == pid_;
  }
  bool succeeded() { return ended() && WIFEXITED(status_) && WEXITSTATUS(status_) == 0; }

 private:
  pid_t pid_ = -1;
  bool reaped_ = false;
  int status_ = 0;
};

}  // namespace example
