// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/io/service_notify.h"

#include <array>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "zklock/cli/io/unique_fd.h"

namespace zklock::cli {
namespace {

class ServiceNotify : public ::testing::Test {
 protected:
  ServiceNotify() {
    std::string name = ::testing::TempDir() + "zklock-notify.XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~ServiceNotify() override {
    ::unsetenv("NOTIFY_SOCKET");
    std::filesystem::remove_all(folder_);
  }

  /// Binds the socket of the service manager. `name`: of NOTIFY_SOCKET.
  void listen(const std::string& name) {
    ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name.data(), name.size());
    const std::size_t length = offsetof(sockaddr_un, sun_path) + name.size() + 1;
    socket_ = UniqueFd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    ASSERT_EQ(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address),
                     static_cast<socklen_t>(length)),
              0);
  }
  std::string received() const {
    std::array<char, 256> text{};
    const ssize_t length = ::recv(socket_.get(), text.data(), text.size(), 0);
    return {text.data(), length > 0 ? static_cast<std::size_t>(length) : 0};
  }

  std::string folder_;
  UniqueFd socket_;
};

TEST_F(ServiceNotify, LongestPath_ReceivesTheState) {
  std::string name = folder_ + '/';
  ASSERT_LT(name.size(), 100U);
  name.resize(sizeof(sockaddr_un::sun_path) - 1, 'n');
  listen(name);
  EXPECT_TRUE(notify_service("READY=1"));
  EXPECT_EQ(received(), "READY=1");
  ::setenv("NOTIFY_SOCKET", (name + 'n').c_str(), 1);
  EXPECT_FALSE(notify_service("READY=1"));
}

TEST_F(ServiceNotify, NoSocket_SendsNothing) {
  ::unsetenv("NOTIFY_SOCKET");
  EXPECT_FALSE(notify_service("READY=1"));
  for (const char* const name : {"", "@", "/", "relative", "vsock:2:1"}) {
    ::setenv("NOTIFY_SOCKET", name, 1);
    EXPECT_FALSE(notify_service("READY=1")) << name;
  }
  ::setenv("NOTIFY_SOCKET", (folder_ + "/none").c_str(), 1);
  EXPECT_FALSE(notify_service("READY=1"));
}

}  // namespace
}  // namespace zklock::cli
