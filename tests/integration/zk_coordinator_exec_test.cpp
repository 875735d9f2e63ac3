// SPDX-License-Identifier: Apache-2.0
// Programs that exec starts inherit no descriptor of the connection.
#include <array>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "integration/coordinator_probe.h"
#include "zklock/testing/servers/expire_session.h"

namespace zklock::client {
namespace {

using Kind = Event::Kind;

struct Inherited {
  std::size_t sockets = 0;
  std::size_t pipes = 0;
  friend bool operator==(const Inherited&, const Inherited&) = default;
};

void PrintTo(const Inherited& inherited, std::ostream* out) {
  *out << inherited.sockets << " sockets, " << inherited.pipes << " pipes";
}

// Counts the open descriptors of a program that this process starts.
Inherited inherited() {
  const std::unique_ptr<FILE, int (*)(FILE*)> listing(::popen("ls -l /proc/self/fd", "r"),
                                                      &::pclose);
  if (!listing) throw std::runtime_error("ls cannot be started");
  Inherited found;
  std::array<char, 512> line{};
  while (std::fgets(line.data(), line.size(), listing.get()) != nullptr) {
    const std::string text = line.data();
    found.sockets += text.find("socket:") != std::string::npos ? 1U : 0U;
    found.pipes += text.find("pipe:") != std::string::npos ? 1U : 0U;
  }
  return found;
}

TEST(ZkCoordinatorExec, StartedProgram_InheritsNoConnectionDescriptor) {
  const auto server = serving();
  const Inherited before = inherited();
  ClientOptions options = Probe::with(server->hosts());
  options.session_timeout = std::chrono::seconds(60);
  Probe probe(options);
  const SessionId first = probe.session();
  EXPECT_EQ(inherited(), before);
  {
    Probe another(options);
    (void)another.session();
    EXPECT_EQ(inherited(), before) << "two clients";
  }
  server->restart();
  ASSERT_TRUE(server->wait_until_serving()) << server->log();
  ASSERT_TRUE(probe.journal().wait(2, Kind::connected));
  EXPECT_EQ(inherited(), before) << "a new connection";
  testing::expire_session(server->hosts(), first.value);
  ASSERT_TRUE(probe.journal().wait(3, Kind::connected));
  EXPECT_EQ(inherited(), before) << "a new handle";
}

}  // namespace
}  // namespace zklock::client
