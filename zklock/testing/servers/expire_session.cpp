// SPDX-License-Identifier: Apache-2.0
#include "zklock/testing/servers/expire_session.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <thread>

#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace zklock::testing {
namespace {

constexpr int kMaxAttempts = 20;
constexpr std::chrono::milliseconds kBetweenAttempts{100};
constexpr int kSessionTimeoutMs = 10'000;
constexpr std::int32_t kCloseSession = -11;  // org.apache.zookeeper.ZooDefs.OpCode
constexpr const char* kDefaultPort = "2181";

// java.util.Random, as its documentation specifies it.
class JavaRandom {
 public:
  explicit JavaRandom(std::uint64_t seed) : seed_((seed ^ kMultiplier) & kMask) {}

  std::uint32_t next_int() {
    seed_ = (seed_ * kMultiplier + 0xB) & kMask;
    return static_cast<std::uint32_t>(seed_ >> 16);
  }

 private:
  static constexpr std::uint64_t kMultiplier = 0x5DEECE66D;
  static constexpr std::uint64_t kMask = (std::uint64_t{1} << 48) - 1;
  std::uint64_t seed_;
};

// The numbers of ZooKeeper's protocol, most significant byte first.
std::string number(std::uint64_t value, std::size_t size) {
  std::string bytes;
  for (std::size_t i = size; i > 0; --i) {
    bytes += static_cast<char>((value >> (8 * (i - 1))) & 0xFF);
  }
  return bytes;
}
std::string int32(std::int32_t value) {
  return number(static_cast<std::uint32_t>(value), 4);
}
std::int32_t int32_at(std::string_view bytes, std::size_t offset) {
  std::uint32_t value = 0;
  for (const char byte : bytes.substr(offset, 4)) {
    value = value << 8U | static_cast<unsigned char>(byte);
  }
  return static_cast<std::int32_t>(value);
}

// A connection that carries frames. Its reads and writes end after some seconds.
class FrameSocket {
 public:
  explicit FrameSocket(const addrinfo& address)
      : fd_(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval longest{kSessionTimeoutMs / 1000, 0};
    static_cast<void>(::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof longest));
    static_cast<void>(::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &longest, sizeof longest));
    open_ = fd_ >= 0 && ::connect(fd_, address.ai_addr, address.ai_addrlen) == 0;
  }
  ~FrameSocket() {
    if (fd_ >= 0) ::close(fd_);
  }
  FrameSocket(const FrameSocket&) = delete;
  FrameSocket& operator=(const FrameSocket&) = delete;

  void send(const std::string& body) {
    const std::string frame = int32(static_cast<std::int32_t>(body.size())) + body;
    const auto sent = open_ ? ::send(fd_, frame.data(), frame.size(), MSG_NOSIGNAL) : -1;
    open_ = sent == static_cast<ssize_t>(frame.size());
  }
  // Returns the next frame without its length; nullopt if the connection has ended.
  std::optional<std::string> receive() const {
    const auto length = bytes(4);
    return length ? bytes(static_cast<std::size_t>(int32_at(*length, 0))) : std::nullopt;
  }

 private:
  std::optional<std::string> bytes(std::size_t size) const {
    constexpr std::size_t kLongestFrame = 1U << 20U;
    if (!open_ || size > kLongestFrame) return std::nullopt;
    std::string all(size, '\0');
    const auto received = ::recv(fd_, all.data(), size, MSG_WAITALL);
    if (received != static_cast<ssize_t>(size)) return std::nullopt;
    return all;
  }

  const int fd_;
  bool open_ = false;
};

enum class Answer { none, closed, unknown_session };

// Takes the session over and closes it, by one connection to one server.
Answer close_session(const addrinfo& address, std::int64_t id,
                     const std::array<char, 16>& password) {
  FrameSocket server(address);
  // ConnectRequest: protocol version, last zxid, timeout, session id, password, read-only.
  server.send(int32(0) + number(0, 8) + int32(kSessionTimeoutMs) +
              number(static_cast<std::uint64_t>(id), 8) +
              int32(static_cast<std::int32_t>(password.size())) +
              std::string(password.begin(), password.end()) + '\0');
  const auto reply = server.receive();
  if (!reply || reply->size() < 8) return Answer::none;
  // ConnectResponse: protocol version, timeout, ...
  if (int32_at(*reply, 4) <= 0) return Answer::unknown_session;
  server.send(int32(1) + int32(kCloseSession));
  static_cast<void>(server.receive());
  return Answer::closed;
}

Answer close_session(const std::string& host, const std::string& port, std::int64_t id,
                     const std::array<char, 16>& password) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) return Answer::none;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  Answer answer = Answer::none;
  for (; found != nullptr && answer == Answer::none; found = found->ai_next) {
    answer = close_session(*found, id, password);
  }
  return answer;
}

// Tries one server after the other until one answers.
Answer close_session(std::string_view hosts, std::int64_t id,
                     const std::array<char, 16>& password) {
  hosts = hosts.substr(0, hosts.find('/'));  // without the chroot
  while (!hosts.empty()) {
    const std::string_view host = hosts.substr(0, hosts.find(','));
    hosts.remove_prefix(std::min(hosts.size(), host.size() + 1));
    const auto colon = host.rfind(':');
    const std::string port(colon == std::string_view::npos ? kDefaultPort : host.substr(colon + 1));
    const Answer answer = close_session(std::string(host.substr(0, colon)), port, id, password);
    if (answer != Answer::none) return answer;
  }
  return Answer::none;
}

}  // namespace

std::array<char, 16> session_password(std::int64_t session_id) {
  // ZooKeeperServer.generatePasswd: new Random(id ^ superSecret).nextBytes(16 bytes).
  constexpr std::uint64_t kSuperSecret = 0xB3415C00;
  JavaRandom random(static_cast<std::uint64_t>(session_id) ^ kSuperSecret);
  std::array<char, 16> password{};
  for (std::size_t i = 0; i < password.size(); i += 4) {
    const std::uint32_t bits = random.next_int();
    for (std::size_t byte = 0; byte < 4; ++byte) {
      password.at(i + byte) = static_cast<char>((bits >> (8 * byte)) & 0xFF);
    }
  }
  return password;
}

void expire_session(const std::string& hosts, std::int64_t session_id,
                    const std::array<char, 16>& password) {
  bool closed = false;
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    // The owner reconnects as soon as its session is taken over, and may take it back before the
    // close arrives. So this is repeated until the server answers that the session has expired.
    switch (close_session(hosts, session_id, password)) {
      case Answer::none: std::this_thread::sleep_for(kBetweenAttempts); break;
      case Answer::closed: closed = true; break;
      case Answer::unknown_session:
        if (closed) return;
        throw UnknownSession();
    }
  }
  throw std::runtime_error(closed ? "expire_session: the owner takes its session back"
                                  : "expire_session: no answer from " + hosts);
}

void expire_session(const std::string& hosts, std::int64_t session_id) {
  expire_session(hosts, session_id, session_password(session_id));
}

}  // namespace zklock::testing
