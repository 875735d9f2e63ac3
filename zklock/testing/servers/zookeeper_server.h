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

#include "zklock/testing/servers/child_process.h"
#include "zklock/testing/servers/free_ports.h"
#include "zklock/testing/servers/temp_dir.h"

namespace zklock::testing {

// A digest credential with all permissions on the servers of this kit, regardless of ACLs.
inline constexpr std::string_view kSuperDigest = "super:zklock";

struct ZooKeeperOptions {
  std::chrono::milliseconds tick_time{500};
  std::chrono::milliseconds min_session_timeout{1000};
  std::chrono::milliseconds max_session_timeout{60000};
  std::vector<std::string> extra_config = {};      // lines of zoo.cfg; the last one counts
  std::vector<std::string> extra_class_path = {};  // jars, in front of the defaults
  std::vector<std::string> extra_jvm_flags = {};
  int my_id = 0;  // the member number in an ensemble; 0: standalone
};

// One real ZooKeeper server: a child process on 127.0.0.1. Its port and data live as long as this
// object, over any number of starts. One thread at a time may use the controls. hosts(), port(),
// four_letter_word(), mode() and serving() may be called from any thread.
class ZooKeeperServer {
 public:
  explicit ZooKeeperServer(ZooKeeperOptions options = {});
  ~ZooKeeperServer() = default;  // kills the process, removes the data
  ZooKeeperServer(const ZooKeeperServer&) = delete;
  ZooKeeperServer& operator=(const ZooKeeperServer&) = delete;

  // Starts the process and does not wait until it serves. No effect if it runs already.
  void start();
  // Sends SIGTERM and waits for the end; after 10 s kills the process.
  void stop();
  // stop() and start() with the old port and data.
  void restart();
  // Sends SIGKILL, which is like a crash. After start() the server still has its data.
  void kill_hard();
  // Deletes all znodes, sessions and transaction logs. REQUIRES: the server's process has ended.
  // After start(), zxids count from the beginning.
  void erase_data() const;
  // SIGSTOP and SIGCONT.
  void pause();
  void resume();

  bool running() const;
  bool paused() const;

  // Returns false if the server has ended or does not serve after `timeout`; log() shows why.
  [[nodiscard]] bool wait_until_serving(
      std::chrono::milliseconds timeout = std::chrono::seconds(60)) const;
  bool serving() const;
  // Returns "standalone", "leader" or "follower"; nullopt while the server does not serve.
  std::optional<std::string> mode() const;
  std::optional<std::string> four_letter_word(
      std::string_view word, std::chrono::milliseconds timeout = std::chrono::seconds(20)) const;

  std::uint16_t port() const { return ports_[0]; }
  std::string hosts() const { return "127.0.0.1:" + std::to_string(port()); }
  pid_t pid() const { return process_ ? process_->pid() : 0; }
  const std::filesystem::path& directory() const noexcept { return dir_.path(); }
  // Returns the last 8 KiB at most of stdout and stderr.
  std::string log() const;

 private:
  void write_config() const;
  std::vector<std::string> command_line() const;

  ZooKeeperOptions options_;
  TempDir dir_;
  FreePorts ports_;
  std::unique_ptr<ChildProcess> process_;  // after dir_: destroyed before its files
};

}  // namespace zklock::testing
