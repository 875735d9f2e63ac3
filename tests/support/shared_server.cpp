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

void serve(TestServer& server) {
  server.start();
  if (server.is_paused()) server.resume();
  if (!server.wait_until_serving()) {
    throw std::runtime_error("ZooKeeper does not serve:\n" + server.log());
  }
}

std::string SharedServer::hosts() {
  const std::string given = given_hosts();
  return given.empty() ? server()->hosts() : given;
}

TestServer* SharedServer::server() {
  if (!given_hosts().empty()) return nullptr;
  SharedServer& shared = instance();
  const std::lock_guard guard(shared.mutex_);
  if (!shared.server_) {
    auto starting = std::make_unique<TestServer>();
    serve(*starting);
    shared.server_ = std::move(starting);
  }
  return shared.server_.get();
}

TestServer& SharedServer::of_faults() {
  SharedServer& shared = instance();
  const std::lock_guard guard(shared.mutex_);
  if (!shared.of_faults_) shared.of_faults_ = std::make_unique<TestServer>();
  serve(*shared.of_faults_);
  return *shared.of_faults_;
}

void SharedServer::TearDown() {
  const std::lock_guard guard(mutex_);
  server_.reset();
  of_faults_.reset();
}

}  // namespace zklock::testing
