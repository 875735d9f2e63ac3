// SPDX-License-Identifier: Apache-2.0
#include "support/expire_session.h"

#include <algorithm>
#include <cstddef>
#include <stdexcept>

#include "support/raw_client.h"

namespace zklock::testing {
namespace {

constexpr int kMaxAttempts = 20;

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
  clientid_t session{};
  session.client_id = session_id;
  std::copy(password.begin(), password.end(), session.passwd);
  RawClientOptions options;
  options.session = &session;
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    try {
      // The owner reconnects as soon as its session is taken over, and may take it back before the
      // close arrives. So this is repeated until the server answers that the session has expired.
      RawClient(hosts, options).close();
    } catch (const ConnectError& error) {
      if (attempt > 0 && error.session_expired()) return;
      throw;
    }
  }
  throw std::runtime_error("session survived " + std::to_string(kMaxAttempts) + " closes");
}

void expire_session(const std::string& hosts, std::int64_t session_id) {
  expire_session(hosts, session_id, session_password(session_id));
}

}  // namespace zklock::testing
