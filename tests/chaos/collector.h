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

// Counts of refused stale writes.
struct Refusals {
  // The writer still thought that it held.
  std::uint64_t unaware = 0;
  // The client sent the write on purpose after it had learned of the loss.
  std::uint64_t late = 0;
};

// Receives the reports of the clients and owns the resources. One thread serves a Unix socket, so
// all reports have one order. Each report is a line:
//
// | line                                 | meaning                                             |
// |--------------------------------------|-----------------------------------------------------|
// | I client life                        | the client has started                              |
// | G id lock weight owner zxid turn     | a grant; long: it lasts a while unless a fault ends |
// |   call first session listened long   | it                                                  |
// | W id lock zxid turn reading late     | visits the resource; answered "1" or "0"            |
// | E id last refused end notified       | the end of a grant                                  |
// | L lock owner zxid turn               | a listener was called for a loss                    |
// | V text                               | a violation                                         |
// | T name number                        | adds to a count                                     |
// | F client life                        | the client has ended in good order                  |
//
// Thread-safety: all members may be called by any thread.
class Collector {
 public:
  // Throws std::system_error.
  explicit Collector(std::string socket_path);
  ~Collector();
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  const std::string& socket_path() const noexcept { return socket_path_; }

  // Observations of the conductor.
  void excuse(const Excuse& excuse);
  void claim(const std::string& what);
  void grant(const Grant& grant);
  // Writes to the resource as a client does. Returns whether it accepted the token.
  bool write_to_resource(std::size_t lock, const FencingToken& token);
  void count(const std::string& name, std::uint64_t number = 1);

  // Returns the session of the client's latest grant; 0 if there is none.
  std::int64_t session_of(unsigned client) const;
  bool has_met(unsigned client, unsigned life) const;
  Refusals refusals() const;
  std::map<std::string, std::uint64_t> tally() const;
  // Returns whether a thread of the client holds a lock for a while.
  bool stays_long(unsigned client) const;
  // Moves the history out. REQUIRES: all clients have ended.
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

  mutable std::mutex mutex_;  // guards the following members
  History history_;
  std::vector<Resource> resources_;
  std::unordered_map<GrantId, std::size_t> open_;  // index into history_.grants
  std::map<unsigned, std::int64_t> sessions_;
  std::set<GrantId> long_;       // the open grants that last for a while
  std::set<std::uint32_t> met_;  // started lives
  std::map<std::string, std::uint64_t> tally_;
  Refusals refusals_;

  std::thread thread_;
};

}  // namespace zklock::chaos
