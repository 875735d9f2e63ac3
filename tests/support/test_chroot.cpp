// SPDX-License-Identifier: Apache-2.0
#include "support/test_chroot.h"

#include <atomic>
#include <cctype>
#include <exception>
#include <iostream>
#include <random>
#include <stdexcept>
#include <utility>

#include <unistd.h>

#include "support/raw_client.h"
#include "zklock/testing/servers/super_digest.h"

namespace zklock::testing {
namespace {

std::string unique_path() {
  static std::atomic<int> counter{0};
  // The random part distinguishes processes with equal pids on different machines or namespaces.
  std::string path = "/zklock-test-" + std::to_string(::getpid()) + "-" +
                     std::to_string(counter.fetch_add(1)) + "-" +
                     std::to_string(std::random_device{}() % 1000000);
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  if (test == nullptr) return path;
  const std::string name = std::string(test->test_suite_name()) + "-" + test->name();
  path += '-';
  for (const char c : name) {
    path += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '-';
  }
  return path;
}

}  // namespace

TestChroot::TestChroot(std::string hosts)
    : hosts_(std::move(hosts)), path_(unique_path()), credentials_{std::string(kSuperDigest)} {
  const int rc = RawClient(hosts_).create(path_).rc;
  if (rc != ZOK) throw std::runtime_error("create " + path_ + ": " + zerror(rc));
}

TestChroot::~TestChroot() {
  try {
    RawClientOptions options;
    options.connect_timeout = std::chrono::seconds(5);
    RawClient client(hosts_, options);
    for (const std::string& credential : credentials_) (void)client.add_digest(credential);
    const int rc = client.delete_recursive(path_);
    if (rc != ZOK) std::cerr << "delete " << path_ << ": " << zerror(rc) << '\n';
  } catch (const std::exception& error) {
    std::cerr << "delete " << path_ << ": " << error.what() << '\n';
  }
}

::testing::AssertionResult TestChroot::is_empty() const {
  RawClient client(hosts_);
  const ChildrenReply below = client.children(path_);
  if (below.rc != ZOK) {
    return ::testing::AssertionFailure() << "list " << path_ << ": " << zerror(below.rc);
  }
  if (below.names.empty()) return ::testing::AssertionSuccess();
  auto failure = ::testing::AssertionFailure() << path_ << " holds:";
  for (const std::string& name : below.names) failure << ' ' << name;
  return failure;
}

}  // namespace zklock::testing
