// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/raw_client.h"
#include "support/shared_server.h"
#include "support/test_chroot.h"
#include "support/wait_for.h"
#include "support/zookeeper_server.h"
#include "zklock/zklock.h"

namespace zklock {

// For the messages of failed expectations.
inline void PrintTo(Errc code, std::ostream* out) {
  *out << make_error_code(code).message() << " (" << static_cast<int>(code) << ')';
}

}  // namespace zklock

namespace zklock::testing {

using namespace std::chrono_literals;

// Longer than anything takes that works, also on a busy machine under a sanitizer.
inline constexpr std::chrono::seconds kPatience{60};

inline const std::string kPath = "/lock";

// What the future brings. Throws when it brings nothing.
template <class T>
T get(std::future<T>& future) {
  if (future.wait_for(kPatience) != std::future_status::ready) {
    throw std::runtime_error("the result did not come");
  }
  return future.get();
}

template <class T>
bool is_ready(const std::future<T>& future) {
  return future.wait_for(0s) == std::future_status::ready;
}

// The code of the Error that `call` throws; nothing when it throws none.
template <class Call>
std::optional<Errc> error_of(Call&& call) {
  try {
    static_cast<void>(std::forward<Call>(call)());
  } catch (const Error& error) {
    return error.errc();
  }
  return std::nullopt;
}

// The same, its text; empty when it throws none.
template <class Call>
std::string error_text_of(Call&& call) {
  try {
    static_cast<void>(std::forward<Call>(call)());
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

// Runs `call` in a thread of its own.
template <class Call>
auto in_thread(Call call) {
  return std::async(std::launch::async, std::move(call));
}

// A chroot on real servers, the clients that live in it, and a second opinion of what is there.
class Realm {
 public:
  // No hold is lost because the machine, the server or this process stands still for some seconds.
  // Tests in which a session or a lease is to run out take a shorter one.
  static constexpr std::chrono::milliseconds kSessionTimeout{10000};

  explicit Realm(const std::string& hosts) : chroot_(hosts) {}

  ClientOptions options() const {
    ClientOptions options;
    options.hosts = chroot_.hosts();
    options.session_timeout = kSessionTimeout;
    options.connection_timeout = kPatience;  // a server may take long to start
    options.application = "conformance";
    return options;
  }

  // A connected client.
  std::unique_ptr<Client> connect(const ClientOptions& options) const {
    auto client = std::make_unique<Client>(options);
    if (!client->wait_until_connected(kPatience)) throw std::runtime_error("not connected");
    return client;
  }
  std::unique_ptr<Client> connect() const { return connect(options()); }

  // What the servers say. Its paths are those of the clients.
  RawClient& raw() {
    if (!raw_) raw_.emplace(chroot_.hosts());
    return *raw_;
  }

  // The answer of the servers to an administration word; needs a server of this kit.
  static std::string ask_server(const ZooKeeperServer& server, std::string_view word) {
    return server.four_letter_word(word).value_or("");
  }

  // Whether somebody watches the node, which is named without the chroot.
  bool watched(const ZooKeeperServer& server, const std::string& node) const {
    return ask_server(server, "wchp").find(chroot_.path() + node) != std::string::npos;
  }

  TestChroot chroot_;
  std::optional<RawClient> raw_;
};

// A test whose clients live in a chroot of their own.
class LockTest : public ::testing::Test, protected Realm {
 protected:
  LockTest() : LockTest(SharedServer::hosts()) {}
  explicit LockTest(const std::string& hosts) : Realm(hosts) {}

  std::vector<std::string> nodes(const std::string& path = kPath) {
    return raw().children(path).names;
  }
  bool reaches_nodes(std::size_t count, const std::string& path = kPath) {
    return eventually([&] { return nodes(path).size() == count; }, kPatience);
  }
  bool becomes_empty(const std::string& path = kPath) { return reaches_nodes(0, path); }

  // Whether somebody else than the clients of the test could lock now.
  bool is_free(const std::string& path = kPath) const {
    const auto client = connect();
    ReentrantMutex mutex(*client, path);
    return static_cast<bool>(mutex.acquire({.deadline = Deadline::passed()}));
  }
};

struct StartedServer {
  explicit StartedServer(ZooKeeperOptions options = {}) : server_(std::move(options)) {
    start_server();
  }
  void start_server() {
    server_.start();
    if (!server_.wait_until_serving()) throw std::runtime_error(server_.log());
  }
  ZooKeeperServer server_;
};

// Starts a server for clients that wait for it. One that has its port, but not yet its data, fails to
// close the connections that it refuses, and a client that met that waits for two thirds of its
// session timeout, as long as a lease. Then the server is killed, which closes them.
template <class Fact>
void start_until(ZooKeeperServer& server, Fact connected) {
  for (int attempt = 0; attempt < 4; ++attempt) {
    if (!server.running()) server.start();
    if (!server.wait_until_serving()) throw std::runtime_error(server.log());
    if (eventually(connected, 8s)) return;
    server.kill_hard();
  }
  throw std::runtime_error("clients have not come back");
}

// A test with a server that it may stop, pause or configure.
class OwnServerTest : protected StartedServer, public LockTest {
 protected:
  explicit OwnServerTest(ZooKeeperOptions options = {})
      : StartedServer(std::move(options)), LockTest(server_.hosts()) {}

  // As a crash; the data stay.
  void kill_and_restart() {
    server_.kill_hard();
    start_again();
  }
  void start_again() {
    start_server();
    raw_.reset();  // its connection broke too
  }
  // For a client whose lease is to outlast it.
  void start_again(const Client& client) {
    start_until(server_, [&] { return client.is_connected(); });
    raw_.reset();
  }
};

}  // namespace zklock::testing
