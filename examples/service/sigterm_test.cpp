// SPDX-License-Identifier: Apache-2.0
// Two processes of the service on a real server. SIGTERM ends one of them. If that is the leader,
// the other one leads at once.
//
//   sigterm_test SERVICE
#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zklock/testing/test_server.h>
#include <zklock/zklock.h>

#include "../child.h"

namespace {

using namespace std::chrono_literals;

std::string program;

template <class Fact>
bool eventually(Fact fact) {
  for (int i = 0; i < 3000; ++i) {
    if (fact()) return true;
    std::this_thread::sleep_for(20ms);
  }
  return fact();
}

// A process of the service.
class Instance {
 public:
  explicit Instance(const std::string& hosts) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    child_ = std::make_unique<example::Child>(std::vector<std::string>{program, hosts}, ends[1]);
    ::close(ends[1]);
    output_.reset(::fdopen(ends[0], "r"));
    unsigned port = 0;
    if (std::fscanf(output_.get(), "probes: 127.0.0.1:%u", &port) != 1) {
      throw std::runtime_error("the service does not start");
    }
    port_ = static_cast<std::uint16_t>(port);
  }

  // Returns the status of the reply; 0 if there is none.
  int status_of(const std::string& path) const {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port_);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    std::array<char, 64> reply{};
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
      const std::string request = "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
      static_cast<void>(::send(fd, request.data(), request.size(), MSG_NOSIGNAL));
      static_cast<void>(::recv(fd, reply.data(), reply.size() - 1, 0));
    }
    ::close(fd);
    int status = 0;
    return std::sscanf(reply.data(), "HTTP/1.1 %d", &status) == 1 ? status : 0;
  }
  bool leads() const { return status_of("/readyz") == 200; }
  void terminate() const { ::kill(child_->pid(), SIGTERM); }
  // Returns whether the process ends with the exit code 0.
  bool ends_well() {
    return eventually([this] { return child_->ended(); }) && child_->succeeded();
  }

 private:
  // Open until the process has ended: a write to a closed pipe would kill it.
  std::unique_ptr<FILE, int (*)(FILE*)> output_{nullptr, &std::fclose};
  std::unique_ptr<example::Child> child_;
  std::uint16_t port_ = 0;
};

// A leader and a standby.
class SigtermTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ZKLOCK_SKIP_WITHOUT_SERVER();
    server_.start();
    ASSERT_TRUE(server_.wait_until_serving()) << server_.log();
    leader_ = std::make_unique<Instance>(server_.hosts());
    ASSERT_TRUE(eventually([this] { return leader_->leads(); }));
    standby_ = std::make_unique<Instance>(server_.hosts());
    client_ = std::make_unique<zklock::Client>(server_.hosts());
    observer_ = std::make_unique<zklock::LeaderLatch>(*client_, "/services/billing/leader");
    ASSERT_TRUE(eventually([this] { return participants() == 2; }));
  }
  std::size_t participants() const { return observer_->participants().size(); }

  zklock::testing::TestServer server_;
  std::unique_ptr<Instance> leader_;
  std::unique_ptr<Instance> standby_;
  std::unique_ptr<zklock::Client> client_;
  std::unique_ptr<zklock::LeaderLatch> observer_;
};

TEST_F(SigtermTest, Leader_HandsOverBeforeItEnds) {
  EXPECT_EQ(standby_->status_of("/livez"), 200);
  EXPECT_EQ(standby_->status_of("/readyz"), 503);
  leader_->terminate();
  EXPECT_TRUE(leader_->ends_well());
  ASSERT_EQ(participants(), 1U) << "the first one has left before its process ended";
  EXPECT_TRUE(eventually([this] { return standby_->leads(); }));

  standby_->terminate();
  EXPECT_TRUE(standby_->ends_well());
  EXPECT_EQ(participants(), 0U);
}

TEST_F(SigtermTest, Standby_LeavesAndTheLeaderStays) {
  standby_->terminate();
  EXPECT_TRUE(standby_->ends_well());
  EXPECT_EQ(participants(), 1U);
  EXPECT_TRUE(leader_->leads());
}

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (argc != 2) return 2;
  program = argv[1];
  return RUN_ALL_TESTS();
}
