// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "support/child_process.h"
#include "support/free_ports.h"
#include "support/temp_dir.h"

namespace zklock::testing {

// A digest credential that may do anything on the servers of this kit, whatever the ACLs say.
inline constexpr std::string_view kSuperDigest = "super:zklock";

struct ZooKeeperOptions {
  std::chrono::milliseconds tick_time{500};
  std::chrono::milliseconds min_session_timeout{1000};
  std::chrono::milliseconds max_session_timeout{60000};
  std::vector<std::string> extra_config = {};      // lines for zoo.cfg; a later line wins
  std::vector<std::string> extra_class_path = {};  // jars, in front of the defaults
  std::vector<std::string> extra_jvm_flags = {};
  int my_id = 0;  // the member number in an ensemble; 0: standalone
};

// One real ZooKeeper server, a child process on 127.0.0.1. Its port and data live as long as this
// object, over any number of starts. The controls are for one thread at a time; hosts(), port(),
// four_letter_word(), mode() and serving() may be called from any.
class ZooKeeperServer {
 public:
  explicit ZooKeeperServer(ZooKeeperOptions options = {});
  ~ZooKeeperServer() = default;  // kills the process, removes the data
  ZooKeeperServer(const ZooKeeperServer&) = delete;
  ZooKeeperServer& operator=(const ZooKeeperServer&) = delete;

  // Starts the process; does not wait for it to serve. Nothing happens when it runs already.
  void start();
  // Asks the process to end and waits for it; kills it when it does not within 10 s.
  void stop();
  // stop() and start(): same port, same data.
  void restart();
  // SIGKILL, as a crash. start() brings the server back with its data.
  void kill_hard();
  // Deletes all nodes, sessions and transaction logs of a server that does not run. REQUIRES: its
  // process has ended. The server that start() brings up then counts its zxids from the beginning.
  void erase_data();
  // SIGSTOP and SIGCONT.
  void pause();
  void resume();

  bool running() const;
  bool paused() const;

  // False when the server does not serve after `timeout`, or has ended; log() then says why.
  [[nodiscard]] bool wait_until_serving(
      std::chrono::milliseconds timeout = std::chrono::seconds(60)) const;
  bool serving() const;
  // "standalone", "leader" or "follower"; empty while not serving.
  std::optional<std::string> mode() const;
  std::optional<std::string> four_letter_word(
      std::string_view word, std::chrono::milliseconds timeout = std::chrono::seconds(20)) const;

  std::uint16_t port() const { return ports_[0]; }
  std::string hosts() const { return "127.0.0.1:" + std::to_string(port()); }
  pid_t pid() const { return process_ ? process_->pid() : 0; }
  const std::filesystem::path& directory() const noexcept { return dir_.path(); }
  // What the server has written to stdout and stderr, at most the last 8 KiB.
  std::string log() const;

 private:
  void write_config() const;
  std::vector<std::string> command_line() const;

  ZooKeeperOptions options_;
  TempDir dir_;
  FreePorts ports_;
  std::unique_ptr<ChildProcess> process_;  // after dir_: ends before its files go
};

}  // namespace zklock::testing
