// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include <zklock/zklock.h>

#include "ledger.h"
#include "probe_server.h"

namespace billing {

struct ServiceOptions {
  std::string path = "/services/billing/leader";
  // How long stop() waits for postings that were accepted, and then again for the servers. A write
  // that hangs delays stop() further.
  std::chrono::milliseconds stop_limit{5'000};
};

// A service with one active instance. Each instance is a candidate. The leader accepts postings and
// writes them to the ledger, with its token. The others are standbys.
//
// | moment                         | what happens                                                    |
// |--------------------------------|-----------------------------------------------------------------|
// | the instance becomes leader    | is_ready() is true, post() accepts                              |
// | SIGTERM: stop()                | is_ready() is false; postings that were accepted are written;   |
// |                                | the next instance leads at once                                 |
// | the process crashes            | the next instance leads when the session has expired            |
// | the lease expires              | post() refuses before the next instance can lead. A write that  |
// |                                | hangs continues; the ledger refuses it if it comes too late     |
// | the process was paused         | a late write is refused by the ledger                           |
//
// Only the leader is ready. So in Kubernetes, a Deployment with the default strategy cannot replace
// the leader: it waits for a second pod that is ready. Use the strategy Recreate, or a
// maxUnavailable of 100 %. Or use /livez for both probes, and route requests by a label that the
// leader sets.
//
// Thread-safety: all members, from any thread.
class Service {
 public:
  Service(zklock::Client& client, Ledger& ledger, const ServiceOptions& options = {});
  // Ends the leadership, and waits until a running write returns. Does not wait for the servers.
  ~Service() = default;
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // Begins to contend. Does not block.
  void start();
  // The future becomes true when the posting is in the ledger. It becomes false if it is not: send
  // it to the leader. It has an exception if the outcome is unknown.
  [[nodiscard]] std::future<bool> post(Posting posting);
  // Ends in good order; see the table. Blocks until a running write returns, without a limit for a
  // write that hangs. Returns whether the next instance can lead at once. If not, it leads when the
  // session has ended.
  bool stop();

  // For a liveness probe: whether the process can do its work, now or later. A standby is live,
  // also without servers. False if the election has failed for good, for example by no_auth.
  // Restart the process if this is false.
  [[nodiscard]] bool is_live() const;
  // For a readiness probe: whether this instance leads and accepts postings.
  [[nodiscard]] bool is_ready() const;
  // Answers /livez, /readyz and /metrics.
  [[nodiscard]] Reply reply_to(std::string_view path) const;

 private:
  struct Request {
    Posting posting;
    std::promise<bool> written;
  };
  class OpenInbox;

  void lead(const zklock::Leadership& leadership);
  void write(const zklock::Leadership& leadership);
  std::optional<Request> next(const std::stop_token& ended);

  zklock::Client& client_;
  Ledger& ledger_;
  const ServiceOptions options_;

  mutable std::mutex mutex_;  // guards the following members
  std::condition_variable_any changed_;
  std::deque<Request> inbox_;
  bool open_ = false;     // the instance leads
  bool writing_ = false;  // a request is in flight
  bool stopping_ = false;

  zklock::LeaderElection election_;  // last: its thread uses the other members
};

}  // namespace billing
