// SPDX-License-Identifier: Apache-2.0
#include "conformance/holder_process.h"

#include <cerrno>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conformance/lock_test.h"
#include "zklock/testing/servers/wait_for.h"

namespace zklock::testing {

HolderProcess::HolderProcess(const std::string& hosts, const std::string& path,
                             std::chrono::milliseconds session_timeout) {
  const std::string pipe = directory_.path() / "commands";
  if (::mkfifo(pipe.c_str(), 0600) != 0) {
    throw std::system_error(errno, std::generic_category(), "mkfifo " + pipe);
  }
  // Opened for reading too: open() then does not block, and the child never reads an end of file.
  pipe_ = ::open(pipe.c_str(), O_RDWR | O_CLOEXEC);
  if (pipe_ < 0) throw std::system_error(errno, std::generic_category(), "open " + pipe);
  ChildOptions child;
  child.argv = {ZKLOCK_HOLD_CHILD, hosts, path, std::to_string(session_timeout.count()), pipe};
  child.log_file = directory_.path() / "answers";
  process_ = std::make_unique<ChildProcess>(child);
}

HolderProcess::~HolderProcess() {
  process_.reset();
  ::close(pipe_);
}

std::vector<std::string> HolderProcess::lines() const {
  std::vector<std::string> result;
  std::ifstream answers(directory_.path() / "answers");
  for (std::string line; std::getline(answers, line) && !answers.eof();) result.push_back(line);
  return result;
}

void HolderProcess::send(const std::string& command) const {
  const std::string line = command + "\n";
  const auto written = ::write(pipe_, line.data(), line.size());
  if (written != static_cast<ssize_t>(line.size())) throw std::runtime_error("cannot write");
}

std::string HolderProcess::receive() {
  std::vector<std::string> all;
  const bool came = eventually(
      [&] {
        all = lines();
        return all.size() > received_;
      },
      kTestTimeout);
  if (!came) throw std::runtime_error("the other process does not answer");
  return all[received_++];
}

HolderProcess::Answer HolderProcess::receive_state() {
  const std::string line = receive();
  Answer answer;
  std::istringstream words(line);
  if (!(words >> answer.state >> answer.token)) throw std::runtime_error(line);
  return answer;
}

HolderProcess::Answer HolderProcess::wait_until_held() {
  return receive_state();
}

}  // namespace zklock::testing
