// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include <boost/asio/io_context.hpp>

#include "zklock/cli/core/run_fsm.h"
#include "zklock/cli/io/http_server.h"
#include "zklock/client.h"
#include "zklock/election_observer.h"
#include "zklock/health.h"
#include "zklock/leadership.h"
#include "zklock/participant.h"

namespace zklock::cli {

/// The facts that decide the answers to probes.
struct ProbeFacts {
  Health health = {};
  bool is_connected = true;
  RunState state = RunState::queued;
  bool leads = false;                      ///< by a valid leadership
  std::optional<Participant> leader = {};  ///< of the election
  std::chrono::system_clock::time_point now = {};
};

/// Returns the answer to a probe.
///
/// | path    | 200                                       | 503                                      |
/// |---------|-------------------------------------------|------------------------------------------|
/// | /livez  | the client works, even that of a standby  | Client::health() has failed              |
/// | /readyz | this process leads, and the command runs  | otherwise; the text names the leader     |
///
/// Every other path: 404.
[[nodiscard]] HttpAnswer probe_answer(std::string_view path, const ProbeFacts& facts);

/// Answers the probes of a supervisor by HTTP, on a thread of its own.
///
/// Thread-safety: on_leading() and on_state() by any thread.
class ElectProbes {
 public:
  /// Listens at once. REQUIRES: the client outlives the object.
  /// Throws: boost::system::system_error, Error.
  ElectProbes(Client& client, const std::string& path, const HttpServer::Endpoint& endpoint);
  ElectProbes(const ElectProbes&) = delete;
  ElectProbes& operator=(const ElectProbes&) = delete;
  ~ElectProbes();

  HttpServer::Endpoint endpoint() const { return server_.endpoint(); }
  /// This process leads.
  void on_leading(const Leadership& leadership);
  void on_state(RunState state);

 private:
  ProbeFacts facts() const;

  Client& client_;
  mutable std::mutex mutex_;
  RunState state_ = RunState::queued;
  Leadership leadership_;  ///< the last one
  std::optional<Participant> leader_;
  boost::asio::io_context io_{1};
  HttpServer server_;
  ElectionObserver observer_;
  Subscription subscription_;
  std::jthread thread_;
};

}  // namespace zklock::cli
