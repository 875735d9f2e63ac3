// SPDX-License-Identifier: Apache-2.0
// A process that pauses while it holds the lock.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conformance/lock_test.h"
#include "zklock/testing/servers/child_process.h"
#include "zklock/testing/servers/temp_dir.h"

namespace zklock::testing {
namespace {

// A process (hold_child.cpp) with its own client, which holds a lock.
class HolderProcess {
 public:
  struct Answer {
    std::string state;
    std::int64_t token = 0;
  };

  // Starts the process, which acquires the lock and then says its state.
  HolderProcess(const std::string& hosts, std::chrono::milliseconds session_timeout) {
    const std::string pipe = directory_.path() / "commands";
    if (::mkfifo(pipe.c_str(), 0600) != 0) throw std::runtime_error("mkfifo " + pipe);
    // Opened for reading too: open() then does not block, and the child never reads an end of file.
    pipe_ = ::open(pipe.c_str(), O_RDWR | O_CLOEXEC);
    if (pipe_ < 0) throw std::runtime_error("open " + pipe);
    ChildOptions child;
    child.argv = {ZKLOCK_HOLD_CHILD, hosts, kPath, std::to_string(session_timeout.count()), pipe};
    child.log_file = directory_.path() / "answers";
    process_ = std::make_unique<ChildProcess>(child);
  }
  ~HolderProcess() {
    process_.reset();
    ::close(pipe_);
  }
  HolderProcess(const HolderProcess&) = delete;
  HolderProcess& operator=(const HolderProcess&) = delete;

  // Sends a command and does not wait for the answer. A paused process answers after resume().
  void send(const std::string& command) const {
    const std::string line = command + "\n";
    const auto written = ::write(pipe_, line.data(), line.size());
    if (written != static_cast<ssize_t>(line.size())) throw std::runtime_error("cannot write");
  }
  // Blocks until the next answer. Throws if none arrives.
  std::string receive() {
    std::vector<std::string> all;
    const auto answered = [&] {
      all = lines();
      return all.size() > received_;
    };
    if (!eventually(answered, kTestTimeout)) throw std::runtime_error("no answer");
    return all[received_++];
  }
  Answer receive_state() {
    Answer answer;
    std::istringstream words(receive());
    if (words >> answer.state >> answer.token) return answer;
    std::string all;  // for example, a report of a sanitizer
    for (const std::string& line : lines()) all += line + "\n";
    throw std::runtime_error("not a state: " + words.str() + "\n" + all);
  }
  ChildProcess& process() { return *process_; }

 private:
  std::vector<std::string> lines() const {
    std::vector<std::string> result;
    std::ifstream answers(directory_.path() / "answers");
    for (std::string line; std::getline(answers, line) && !answers.eof();) result.push_back(line);
    return result;
  }

  TempDir directory_;
  std::unique_ptr<ChildProcess> process_;
  int pipe_ = -1;
  std::size_t received_ = 0;
};

class Pause : public LockTest {
 protected:
  // Short, because the tests wait for its end; long enough for a busy machine.
  static constexpr std::chrono::milliseconds kShortSession{6000};

  const std::unique_ptr<Client> client_ = connect();
  ReentrantMutex mutex_{*client_, kPath};
};

TEST_F(Pause, PauseLongerThanSession_FirstQueryReportsLost) {
  HolderProcess other(chroot_.hosts(), kShortSession);
  const auto granted = other.receive_state();
  EXPECT_EQ(granted.state, "held");
  auto waiting = mutex_.async_acquire();
  ASSERT_TRUE(reaches_nodes(2));

  other.process().pause();
  other.send("state");  // read when the process continues
  Hold hold = get(waiting);
  EXPECT_GT(hold.token().zxid, granted.token);
  EXPECT_EQ(hold.state(), HoldState::held);

  other.process().resume();
  const auto first_answer = other.receive_state();
  EXPECT_EQ(first_answer.state, "lost");
  EXPECT_EQ(first_answer.token, granted.token);
  EXPECT_EQ(hold.state(), HoldState::held);
  EXPECT_TRUE(eventually(
      [&] {
        other.send("losses");
        return other.receive() == "1";
      },
      kTestTimeout));

  other.send("again");  // it enqueues behind this process, with a new session
  ASSERT_TRUE(reaches_nodes(2));
  const auto our_token = hold.token().zxid;
  hold.release();
  const auto again = other.receive_state();
  EXPECT_EQ(again.state, "held");
  EXPECT_GT(again.token, our_token);
  other.send("losses");
  EXPECT_EQ(other.receive(), "1");
}

// The lease has expired but the session has not. No other client can be granted, and the hold is
// still lost.
TEST_F(Pause, PauseLongerThanLease_LostThoughSessionLives) {
  HolderProcess other(chroot_.hosts(), 8s);
  const auto granted = other.receive_state();
  other.process().pause();
  other.send("state");
  // A lease lasts at most two thirds of the session timeout.
  const auto lease_is_over = LeaseClock::now() + 8000ms * 2 / 3 + 1ms;
  EXPECT_TRUE(eventually([&] { return LeaseClock::now() > lease_is_over; }, kTestTimeout));
  other.process().resume();
  const auto answer = other.receive_state();
  EXPECT_EQ(answer.state, "lost");
  EXPECT_EQ(answer.token, granted.token);
  // The client deletes the znode of its lost hold, although its session lives.
  EXPECT_TRUE(static_cast<bool>(mutex_.acquire({.deadline = kTestTimeout})));
}

}  // namespace
}  // namespace zklock::testing
