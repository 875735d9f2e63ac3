// SPDX-License-Identifier: Apache-2.0
// A process that holds a lock and answers commands, for tests that pause or kill it.
//
//   zklock_hold_child <hosts> <path> <session timeout in ms> <pipe of commands>
//
// It writes "held <token>" after the grant. Then it answers each line of the pipe with one line:
//
// | command | answer                               |
// |---------|--------------------------------------|
// | state   | "<state> <token>"                    |
// | losses  | how often the loss callback ran      |
// | again   | "held <token>", after a new acquire  |
// | exit    | none; the process ends               |
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <optional>
#include <stop_token>
#include <string>

#include "zklock/zklock.h"

namespace {

using zklock::Hold;
using zklock::HoldState;

void say_state(const Hold& hold) {
  // Reads the state first, before any other code can run.
  const HoldState state = hold.state();
  std::cout << state << ' ' << hold.token().zxid << std::endl;
}

int run(char** argv) {
  zklock::ClientOptions options;
  options.hosts = argv[1];
  options.session_timeout = std::chrono::milliseconds(std::atoi(argv[3]));
  options.application = "hold_child";
  options.log_sink = [](zklock::LogLevel, std::string_view) {};  // stderr carries the answers, too
  zklock::Client client(options);
  zklock::ReentrantMutex mutex(client, argv[2]);

  Hold hold = mutex.acquire();
  std::atomic<int> notified{0};
  std::optional<std::stop_callback<std::function<void()>>> on_loss;
  on_loss.emplace(hold.loss_token(), [&notified] { ++notified; });
  say_state(hold);

  std::ifstream commands(argv[4]);
  std::string command;
  while (std::getline(commands, command)) {
    if (command == "state") {
      say_state(hold);
    } else if (command == "losses") {
      std::cout << notified << std::endl;
    } else if (command == "again") {
      on_loss.reset();
      hold.release();
      hold = mutex.acquire();
      say_state(hold);
    } else if (command == "exit") {
      return 0;
    }
  }
  return 3;  // the pipe was closed
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  try {
    return run(argv);
  } catch (const std::exception& error) {
    std::cout << "error " << error.what() << std::endl;
    return 1;
  }
}
