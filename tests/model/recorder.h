// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "zklock/testing/simulation/world.h"

namespace zklock::model {

using namespace client::request;

constexpr const char* to_string(WatchEvent event) {
  switch (event) {
    case WatchEvent::created: return "created";
    case WatchEvent::changed: return "changed";
    case WatchEvent::children: return "children";
    case WatchEvent::deleted: return "deleted";
  }
  return "";
}

/// A client that records, in order, each call that it receives. Session calls become "connected!"
/// (a new session), "connected", "suspended", "ended session ended", "answered" and "quorum". A
/// reply becomes "LABEL: STATUS" and a watch event "LABEL EVENT", with the label of the request.
class Recorder : public client::SessionObserver {
 public:
  Recorder(World& world, std::size_t c) : world_(world), c_(c) {}

  SimCoordinator& coordinator() { return world_.client(c_); }
  void start() { coordinator().start(*this); }
  /// Calls start(), runs until the client is connected, and clears the log.
  void connect() {
    start();
    world_.run_all();
    log.clear();
  }

  RequestId send(const std::string& label, Operation operation, SessionId session = {}) {
    return coordinator().submit({std::move(operation), session}, [this, label](Reply reply) {
      log.emplace_back(label + ": " + std::string(to_string(reply.status)));
      replies[label] = std::move(reply);
    });
  }
  RequestId create(const std::string& label, const std::string& parent = "/p",
                   SessionId session = {}) {
    return send(label, CreateContender{parent, "lock-", label}, session);
  }
  RequestId watch(const std::string& label, const std::string& path) {
    return send(label, GetAndWatch{path, logs(label)});
  }
  client::request::OnWatchEvent logs(const std::string& label) {
    return [this, label](SessionId, WatchEvent event) {
      log.emplace_back(label + " " + to_string(event));
    };
  }
  std::vector<std::string> take_log() { return std::exchange(log, {}); }

  void on_connected(const client::SessionInfo& info) override {
    sessions.push_back(info);
    log.emplace_back(info.is_new ? "connected!" : "connected");
  }
  void on_suspended(SessionId) override { log.emplace_back("suspended"); }
  void on_ended(SessionId, Status why) override {
    log.emplace_back("ended " + std::string(to_string(why)));
  }
  void on_answered(SessionId, Instant sent_at, core::AnsweredBy by) override {
    if (log_answers) log.emplace_back(by == core::AnsweredBy::quorum ? "quorum" : "answered");
    last_answered = sent_at;
  }

  std::vector<std::string> log;
  std::map<std::string, Reply> replies;
  std::vector<client::SessionInfo> sessions;
  Instant last_answered;
  bool log_answers = false;

 private:
  World& world_;
  std::size_t c_;
};

using Log = std::vector<std::string>;

}  // namespace zklock::model
