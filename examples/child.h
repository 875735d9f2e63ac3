// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <system_error>
#include <vector>

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace example {

// The path of this program, to start a copy of it.
inline const std::string kOwnProgram = "/proc/self/exe";

// A child process. It is killed if the example ends first.
class Child {
 public:
  // `arguments` begins with the program. `output` is the descriptor of its standard output; -1:
  // that of the example.
  explicit Child(std::vector<std::string> arguments, int output = -1) {
    std::vector<char*> argv;
    argv.reserve(arguments.size() + 1);
    for (auto& a : arguments) argv.push_back(a.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    if (output >= 0) ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    const int error = ::posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    if (error != 0) throw std::system_error(error, std::generic_category(), arguments[0]);
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
