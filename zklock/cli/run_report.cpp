// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/run_report.h"

#include <nlohmann/json.hpp>
#include <signal.h>
#include <sys/wait.h>

#include "zklock/cli/command_support.h"
#include "zklock/cli/core/text.h"
#include "zklock/health.h"

namespace zklock::cli {

namespace {

using std::chrono::milliseconds;
using Json = nlohmann::ordered_json;

Json milliseconds_of(const std::optional<Duration>& duration) {
  if (!duration) return nullptr;
  return static_cast<double>(duration->count()) / 1e6;
}

/// Returns the nanoseconds of CLOCK_BOOTTIME as a text, because a double cannot hold them.
Json nanoseconds_of(const std::optional<Instant>& instant) {
  if (!instant) return nullptr;
  return std::to_string(instant->time_since_epoch().count());
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

Json ended_of(const std::optional<int>& status) {
  if (!status) return nullptr;
  if (WIFSIGNALED(*status)) return {{"signal", WTERMSIG(*status)}};
  return {{"exit", WEXITSTATUS(*status)}};
}

/// Returns why the lock was lost, or would have been lost. REQUIRES: one of the two.
LossReason cause_of(const RunFacts& facts) {
  if (facts.loss) return *facts.loss;
  const auto& max_hold = facts.options.lock.max_hold;
  const bool by_limit = max_hold && facts.granted_at && facts.bound &&
                        *facts.granted_at + *max_hold < *facts.bound + milliseconds(100);
  return by_limit ? LossReason::max_hold : LossReason::lease_expired;
}

Json end_reason(const RunFacts& facts) {
  if (facts.loss || facts.ended_for_lock) return names_of(cause_of(facts)).in_report;
  return facts.status ? Json("command") : Json(nullptr);
}

Json json_of(const RunFacts& facts) {
  Json json{{"schema", "zklock.run/1"}, {"path", facts.options.path}};
  json["node"] = text_or_null(facts.node);
  json["token"] = text_or_null(facts.token);
  json["kind"] = facts.options.kind;
  json["note"] = facts.options.lock.note;
  json["command"] = facts.options.command;
  json["pid"] = facts.pid ? Json(*facts.pid) : Json(nullptr);
  json["session_timeout_ms"] = milliseconds_of(facts.session_timeout);
  json["grace_ms"] = milliseconds_of(facts.grace);
  json["lead_ms"] = milliseconds_of(facts.lead);
  const auto granted = facts.granted_at;
  json["queued_ms"] = granted ? milliseconds_of(*granted - facts.queued_at) : Json(nullptr);
  json["held_ms"] =
      granted && facts.swept_at ? milliseconds_of(*facts.swept_at - *granted) : Json(nullptr);
  json["started_at_ms"] = nullptr;
  if (facts.started_at) {
    json["started_at_ms"] =
        std::chrono::duration_cast<milliseconds>(facts.started_at->time_since_epoch()).count();
  }
  json["ended"] = ended_of(facts.status);
  json["end_reason"] = end_reason(facts);
  json["term_at"] = nanoseconds_of(facts.term_at);
  json["kill_at"] = nanoseconds_of(facts.kill_at);
  json["swept_at"] = nanoseconds_of(facts.swept_at);
  json["bound"] = nanoseconds_of(facts.bound);
  json["kill_delay_ms"] = milliseconds_of(facts.kill_delay);
  json["leftover"] = facts.leftover;
  json["exit"] = facts.exit_code;
  json["blocker"] = text_or_null(facts.blocker);
  return json;
}

/// Returns the end of the command, for a sentence.
std::string end_of_command(const RunFacts& facts) {
  if (!facts.status && !facts.swept_at) return "the command was not started";
  if (facts.kill_at ||
      (facts.status && WIFSIGNALED(*facts.status) && WTERMSIG(*facts.status) == SIGKILL)) {
    return "the command was killed";
  }
  return facts.term_at ? "the command ended after its signal" : "the command had ended";
}

}  // namespace

LossNames names_of(LossReason reason) noexcept {
  switch (reason) {
    case LossReason::lease_expired: return {"lease", "no quorum answered in time"};
    case LossReason::session_expired: return {"session", "its session ended"};
    case LossReason::node_deleted: return {"node", "its znode was deleted"};
    case LossReason::max_hold: return {"limit", "--max-hold"};
    case LossReason::forced: return {"forced", "forced release"};
    case LossReason::closed: break;
  }
  return {"closed", "zklock has closed its session"};
}

std::string report_text(const RunFacts& facts) {
  return json_of(facts).dump(-1, ' ', true, Json::error_handler_t::replace) + '\n';
}

std::string loss_text(const RunFacts& facts, Instant now) {
  if (!facts.loss && !facts.ended_for_lock) return {};
  std::string text = facts.loss ? "the lock was lost (" : "the lock was about to be lost (";
  text += std::string(names_of(cause_of(facts)).in_text) + ')';
  if (facts.granted_at)
    text += ", held for " + text_of(facts.swept_at.value_or(now) - *facts.granted_at);
  if (!facts.token.empty()) text += ", token " + facts.token;
  text += "; " + end_of_command(facts);
  const bool has_proof = cause_of(facts) == LossReason::lease_expired ||
                         cause_of(facts) == LossReason::session_expired;
  if (has_proof && facts.swept_at && facts.bound) {
    const Duration margin = *facts.bound + facts.session_timeout / 48 - *facts.swept_at;
    text += margin >= Duration{} ? " " + text_of(margin) + " before another contender could hold"
                                 : ", but another contender may have held before";
  }
  if (facts.loss == LossReason::node_deleted) {
    text += "; another contender may have held before that";
  }
  return text;
}

std::string connection_problem(const Client& client) {
  for (const HealthProblem& problem : client.health().problems) {
    if (problem.kind != HealthProblem::Kind::disconnected) continue;
    // The text is "no connection for 2 s: the cause".
    const auto colon = problem.text.find(": ");
    if (colon != std::string::npos) return without_api_names(problem.text.substr(colon));
  }
  return {};
}

std::string blocker_text(const LockState& state, const LockChoice& lock) {
  if (state.is_free() && !state.lock_delay) return {};
  if (!state.holders.empty() || state.lock_delay) return display_text(to_string(state));
  // to_string() says only that the lock is not held.
  const bool is_shared_count = lock.permits && !lock.of;
  return std::string(is_shared_count ? "no permit is held; the stored count may be too low"
                                     : "the last holder has just released") +
         "; " + counted(state.waiting, "waits", "wait");
}

std::string blocker_text(const Hold& refused, const LockChoice& lock) {
  return blocker_text(refused.blocked_by(std::chrono::seconds(1)), lock);
}

std::string not_acquired_text(const std::optional<Duration>& wait, const std::string& blocker) {
  std::string text = "not acquired";
  if (wait) text += " in " + text_of(*wait);
  if (!blocker.empty()) text += ": " + blocker;
  return text;
}

std::string unconfirmed_text(Duration session_timeout) {
  return "the release is not confirmed: the lock becomes free when the session ends, at the latest "
         "in " +
         text_of(session_timeout);
}

}  // namespace zklock::cli
