// SPDX-License-Identifier: Apache-2.0
#include "support/shared_server.h"

#include <cstdlib>
#include <stdexcept>

namespace zklock::testing {
namespace {

std::string given_hosts() {
  const char* hosts = std::getenv("ZKLOCK_HOSTS");
  return hosts != nullptr ? hosts : "";
}

// Registered before main(), so that GoogleTest's own main() works too. GoogleTest owns the object.
SharedServer& instance() {
  static auto* const kEnvironment = new SharedServer();
  return *kEnvironment;
}
[[maybe_unused]] const auto* const kRegistered = ::testing::AddGlobalTestEnvironment(&instance());

}  // namespace

std::string SharedServer::hosts() {
  const std::string given = given_hosts();
  return given.empty() ? instance().start_once()->hosts() : given;
}

TestServer* SharedServer::server() {
  return given_hosts().empty() ? instance().start_once() : nullptr;
}

TestServer* SharedServer::start_once() {
  const std::lock_guard guard(mutex_);
  if (!server_) {
    auto starting = std::make_unique<TestServer>();
    starting->start();
    if (!starting->wait_until_serving()) {
      throw std::runtime_error("ZooKeeper does not serve:\n" + starting->log());
    }
    server_ = std::move(starting);
  }
  return server_.get();
}

void SharedServer::TearDown() {
  const std::lock_guard guard(mutex_);
  server_.reset();
}

}  // namespace zklock::testing
