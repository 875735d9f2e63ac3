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

#include "zklock/client.h"

namespace zklock::testing {

/// The options of a TestServer.
///
/// Thread-safety: a value.
struct TestServerOptions {
  /// Settings of zoo.cfg.
  std::chrono::milliseconds tick_time{500};
  std::chrono::milliseconds min_session_timeout{1000};
  std::chrono::milliseconds max_session_timeout{60000};
  /// Lines of zoo.cfg. If a key is repeated, its last line applies.
  std::vector<std::string> extra_config = {};
  std::vector<std::string> extra_class_path = {};  ///< jars, in front of the defaults
  std::vector<std::string> extra_jvm_flags = {};
  int my_id = 0;  ///< the member number in an ensemble; 0: standalone
};

/// A real ZooKeeper server: a child process on 127.0.0.1. Its port and data live as long as this
/// object, over any number of starts. The kernel kills the process if this one dies. REQUIRES: Java
/// and the jars of ZooKeeper and slf4j-simple, see unavailable().
/// @code
///   TEST(NightlyJob, ServerCrashes_ContinuesAfterwards) {
///     ZKLOCK_SKIP_WITHOUT_SERVER();
///     zklock::testing::TestServer server;
///     server.start();
///     ASSERT_TRUE(server.wait_until_serving()) << server.log();
///     NightlyJob job(server.hosts());
///     ...
///     server.kill();
///     server.start();
/// @endcode
///
/// Thread-safety: hosts(), port(), directory() and four_letter_word() from any thread. One thread
/// at a time may use the other members.
class TestServer {
 public:
  /// Reserves a port and writes the configuration. Does not start the server. Throws
  /// std::runtime_error.
  explicit TestServer(TestServerOptions options = {});
  /// Kills the process, and removes the data.
  ~TestServer();
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;

  /// Returns why no server can be started here, for example because there is no Java. Returns
  /// nullopt if one can. The first call of a process starts Java, which takes some 100 ms.
  [[nodiscard]] static std::optional<std::string> unavailable();

  /// Starts the process. Does not wait until it serves. No effect if it runs already. Throws
  /// std::runtime_error if Java cannot be started.
  void start();
  /// Sends SIGTERM and waits for the end; after 10 s kills the process.
  void stop();
  /// stop() and start(), with the same port and data.
  void restart();
  /// Sends SIGKILL, which is like a crash. The data stay. Blocks until the process has ended.
  void kill();
  /// Deletes all znodes, sessions and transaction logs. After start(), zxids count from the
  /// beginning. REQUIRES: the process has ended.
  void erase_data() const;
  /// Sends SIGSTOP and SIGCONT. Connections stay open, and nothing is answered meanwhile.
  void pause();
  void resume();

  /// Return whether the process runs, and whether pause() has stopped it.
  [[nodiscard]] bool is_running() const;
  [[nodiscard]] bool is_paused() const;
  /// Blocks until the server serves clients. Returns false if it has ended, or does not serve after
  /// `timeout`; log() shows why.
  [[nodiscard]] bool wait_until_serving(
      std::chrono::milliseconds timeout = std::chrono::seconds(60)) const;
  /// Returns "standalone", "leader", "follower" or "read-only"; nullopt if the server does not
  /// serve. Blocks for up to 20 s if it is paused.
  [[nodiscard]] std::optional<std::string> mode() const;

  /// Ends a session, as an operator can. Blocks until the server no longer knows it, which is soon.
  /// Throws std::runtime_error if there is no such session, or if the server does not answer. On a
  /// paused server, that takes more than 3 minutes.
  void expire_session(std::int64_t session_id) const;
  void expire_session(const Client& client) const { expire_session(client.session_id()); }
  /// Returns the answer to "srvr", "mntr", "wchp" or another of these words; nullopt if there is
  /// none within `timeout`.
  [[nodiscard]] std::optional<std::string> four_letter_word(
      std::string_view word, std::chrono::milliseconds timeout = std::chrono::seconds(20)) const;

  /// Returns the port for clients.
  [[nodiscard]] std::uint16_t port() const;
  /// Returns the value for ClientOptions::hosts, without a chroot.
  [[nodiscard]] std::string hosts() const;
  [[nodiscard]] int pid() const;  ///< 0 before the first start
  [[nodiscard]] const std::filesystem::path& directory() const noexcept;
  /// Returns the last 8 KiB at most of the server's output.
  [[nodiscard]] std::string log() const;

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace zklock::testing

/// Skips a GoogleTest test if no ZooKeeper server can be started here, and says why.
#define ZKLOCK_SKIP_WITHOUT_SERVER()                                                    \
  if (const auto zklock_why = ::zklock::testing::TestServer::unavailable(); zklock_why) \
  GTEST_SKIP() << *zklock_why
