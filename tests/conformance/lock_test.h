// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <future>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/raw_client.h"
#include "support/shared_server.h"
#include "support/test_chroot.h"
#include "zklock/testing/fault_proxy.h"
#include "zklock/testing/servers/wait_for.h"
#include "zklock/testing/test_server.h"
#include "zklock/zklock.h"

namespace zklock::testing {

using namespace std::chrono_literals;

// The timeout of every wait: longer than a successful call takes on a busy machine under a
// sanitizer.
inline constexpr std::chrono::seconds kTestTimeout{60};

inline const std::string kPath = "/lock";

// Returns the result of the future. Throws if there is none after kTestTimeout.
template <class T>
T get(std::future<T>& future) {
  if (future.wait_for(kTestTimeout) != std::future_status::ready) {
    throw std::runtime_error("the result did not come");
  }
  return future.get();
}

template <class T>
bool is_ready(const std::future<T>& future) {
  return future.wait_for(0s) == std::future_status::ready;
}

// Returns the code of the Error that `call` throws, or nullopt.
template <class Call>
std::optional<Errc> error_of(Call&& call) {
  try {
    static_cast<void>(std::forward<Call>(call)());
  } catch (const Error& error) {
    return error.errc();
  }
  return std::nullopt;
}

// Returns the text of the Error that `call` throws, or an empty string.
template <class Call>
std::string error_text_of(Call&& call) {
  try {
    static_cast<void>(std::forward<Call>(call)());
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

// Returns the count of entries of a folder in /proc/self: of threads ("task"), or of descriptors
// ("fd").
inline std::size_t entries(const char* folder) {
  const std::filesystem::directory_iterator all(std::string("/proc/self/") + folder);
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

// Runs `call` in a new thread.
template <class Call>
auto in_thread(Call call) {
  return std::async(std::launch::async, std::move(call));
}

// A chroot on real servers with the clients in it, and a raw client that reads the true state.
class Realm {
 public:
  // Long enough that a pause of some seconds loses no hold. Tests that need an expired session or
  // lease set a shorter timeout.
  static constexpr std::chrono::milliseconds kSessionTimeout{10000};

  explicit Realm(const std::string& hosts) : chroot_(hosts) {}

  // Returns the hosts of a client that connects by `proxy`.
  std::string hosts_by(const FaultProxy& proxy) const { return proxy.hosts() + chroot_.path(); }

  ClientOptions options() const {
    ClientOptions options;
    options.hosts = chroot_.hosts();
    options.session_timeout = kSessionTimeout;
    options.connection_timeout = kTestTimeout;  // a server may start slowly
    options.application = "conformance";
    return options;
  }

  // Returns a client after its connection is up.
  std::unique_ptr<Client> connect(const ClientOptions& options) const {
    auto client = std::make_unique<Client>(options);
    if (!client->wait_until_connected(kTestTimeout)) throw std::runtime_error("not connected");
    return client;
  }
  std::unique_ptr<Client> connect() const { return connect(options()); }

  // Returns the raw client. It uses paths below the chroot, as the clients do. Any thread can call
  // it.
  RawClient& raw() {
    const std::lock_guard guard(raw_mutex_);
    if (!raw_) raw_.emplace(chroot_.hosts());
    return *raw_;
  }

  // Returns the answer to a four-letter word. REQUIRES: a server of this kit.
  static std::string query_server(const TestServer& server, std::string_view word) {
    return server.four_letter_word(word).value_or("");
  }

  // Returns whether a session watches the znode. `node` is the path below the chroot.
  bool watched(const TestServer& server, const std::string& node) const {
    return query_server(server, "wchp").find(chroot_.path() + node) != std::string::npos;
  }

  TestChroot chroot_;
  std::mutex raw_mutex_;
  std::optional<RawClient> raw_;
};

// The base of tests whose clients have their own chroot.
class LockTest : public ::testing::Test, protected Realm {
 protected:
  LockTest() : LockTest(SharedServer::hosts()) {}
  explicit LockTest(const std::string& hosts) : Realm(hosts) {}

  // Returns the children without the hold markers, which appear after some time.
  std::vector<std::string> nodes(const std::string& path = kPath) {
    return without_hold_markers(raw().children(path).names);
  }
  bool reaches_nodes(std::size_t count, const std::string& path = kPath) {
    return eventually([&] { return nodes(path).size() == count; }, kTestTimeout);
  }
  bool becomes_empty(const std::string& path = kPath) {
    return eventually([&] { return raw().children(path).names.empty(); }, kTestTimeout);
  }

  // Returns whether a new client can acquire the lock without waiting.
  bool is_free(const std::string& path = kPath) const {
    const auto client = connect();
    ReentrantMutex mutex(*client, path);
    return static_cast<bool>(mutex.acquire({.deadline = Deadline::passed()}));
  }
};

struct StartedServer {
  StartedServer() : server_(SharedServer::of_faults()) {}
  // A server with these options, for the test alone.
  explicit StartedServer(TestServerOptions options)
      : own_(std::make_unique<TestServer>(std::move(options))), server_(*own_) {
    serve(server_);
  }
  const std::unique_ptr<TestServer> own_;
  TestServer& server_;
};

// Starts the server behind `door`, which refuses connections meanwhile. A server listens before it
// has loaded its data, and neither answers nor closes the connections that it gets then. A client
// with such a connection waits for two thirds of its session timeout, as long as a lease.
inline void start_behind(FaultProxy& door, TestServer& server) {
  door.refuse();
  serve(server);
  door.accept();
}

// The base of tests that stop, pause or configure a server.
class OwnServerTest : protected StartedServer, public LockTest {
 protected:
  OwnServerTest() : LockTest(server_.hosts()) {}
  explicit OwnServerTest(TestServerOptions options)
      : StartedServer(std::move(options)), LockTest(server_.hosts()) {}

  // Kills the server as a crash would; its data stay.
  void kill_and_restart() {
    server_.kill();
    start_again();
  }
  void start_again() {
    serve(server_);
    raw_.reset();  // its connection broke too
  }
  // Returns the options of a client that connects by `door`, and whose holds survive a restart.
  ClientOptions options_by(const FaultProxy& door) const {
    ClientOptions by_door = options();
    by_door.hosts = hosts_by(door);
    by_door.session_timeout = 60s;
    return by_door;
  }
};

}  // namespace zklock::testing
