// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "chaos/history.h"
#include "chaos/resource.h"

namespace zklock::chaos {

// How stale writes were refused: those that came while the writer thought that it held, and those
// that a client sent on purpose after it knew better.
struct Refusals {
  std::uint64_t unaware = 0;
  std::uint64_t late = 0;
};

// Where the clients report to, and where the resources are: a Unix socket, served by one thread, so
// that everything has one order. What clients send is a line each:
//
//   I client life                        here I am
//   G id lock weight owner zxid turn call first session listened long
//                                        granted; for long, unless something happens
//   W id lock zxid turn reading late     visits the resource; answered "1" or "0"
//   E id last refused end told           the grant is over
//   L lock owner zxid turn               a listener was told of a loss
//   V text                               something that must not be
//   T name number                        counted
//   F client life                        a good end
//
// Thread-safety: all members may be called by any thread.
class Desk {
 public:
  // Throws std::system_error.
  explicit Desk(std::string socket_path);
  ~Desk();
  Desk(const Desk&) = delete;
  Desk& operator=(const Desk&) = delete;

  const std::string& socket_path() const noexcept { return socket_path_; }

  // What is seen here, and not told by a client.
  void excuse(const Excuse& excuse);
  void claim(const std::string& what);
  void grant(const Grant& grant);
  // Takes part in the resource's life as a client does.
  bool write_to_resource(std::size_t lock, const FencingToken& token);
  void count(const std::string& name, std::uint64_t number = 1);

  // The session of the client's latest grant; 0 when there is none.
  std::int64_t session_of(unsigned client) const;
  bool has_met(unsigned client, unsigned life) const;
  Refusals refusals() const;
  std::map<std::string, std::uint64_t> tally() const;
  // Whether a thread of the client holds something, and means to for a while.
  bool stays_long(unsigned client) const;
  // Takes everything out; to be called when the clients have ended.
  History take_history();

 private:
  struct Caller {
    int fd;
    std::string unread;
  };

  void serve();
  bool read_from(Caller& caller);
  void handle(Caller& caller, const std::string& line);
  void handle_grant(const std::string& rest);
  void handle_end(const std::string& rest);
  bool handle_visit(const std::string& rest);

  const std::string socket_path_;
  int listener_ = -1;
  std::atomic<bool> ended_{false};

  mutable std::mutex mutex_;  // for all that follows
  History history_;
  std::vector<Resource> resources_;
  std::unordered_map<GrantId, std::size_t> open_;  // index into history_.grants
  std::map<unsigned, std::int64_t> sessions_;
  std::set<GrantId> long_;       // of the open ones
  std::set<std::uint32_t> met_;  // lives
  std::map<std::string, std::uint64_t> tally_;
  Refusals refusals_;

  std::thread thread_;
};

}  // namespace zklock::chaos
