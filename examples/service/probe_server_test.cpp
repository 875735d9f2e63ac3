// SPDX-License-Identifier: Apache-2.0
#include "probe_server.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

namespace billing {
namespace {

using namespace std::chrono_literals;

Reply reply_to(std::string_view path) {
  return {200, "text/plain", std::string(path)};
}

std::ptrdiff_t open_files() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

bool connect_to(int fd, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

// While it exists, the process can open no file.
class NoDescriptors {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit none = before_;
    none.rlim_cur = static_cast<rlim_t>(Descriptor(::eventfd(0, EFD_CLOEXEC), "eventfd").get());
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
};

std::chrono::nanoseconds processor_time() {
  std::timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

TEST(ProbeServer, PortInUse_ThrowsAndClosesItsFiles) {
  const ProbeServer first("127.0.0.1", 0, reply_to);
  const auto before = open_files();
  EXPECT_THROW(ProbeServer("127.0.0.1", first.port(), reply_to), std::system_error);
  EXPECT_EQ(open_files(), before);
}

TEST(ProbeServer, NoDescriptors_Throws) {
  const NoDescriptors none;
  EXPECT_THROW(ProbeServer("127.0.0.1", 0, reply_to), std::system_error);
}

TEST(ProbeServer, NoDescriptors_WaitsWithoutSpinning) {
  const ProbeServer server("127.0.0.1", 0, reply_to);
  const Descriptor client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
  {
    const NoDescriptors none;
    ASSERT_TRUE(connect_to(client.get(), server.port()));
    const auto before = processor_time();
    std::this_thread::sleep_for(500ms);
    EXPECT_LT(processor_time() - before, 100ms);
  }
  const std::string request = "GET /a HTTP/1.1\r\n\r\n";
  ASSERT_EQ(::send(client.get(), request.data(), request.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(request.size()));
  std::array<char, 256> text{};
  EXPECT_GT(::recv(client.get(), text.data(), text.size() - 1, 0), 0);
  EXPECT_NE(std::string(text.data()).find("\r\n\r\n/a"), std::string::npos) << text.data();
}

}  // namespace
}  // namespace billing
