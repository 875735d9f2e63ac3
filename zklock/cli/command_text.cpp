// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/command_text.h"

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "zklock/cli/core/text.h"
#include "zklock/health.h"

namespace zklock::cli {

namespace {

struct Name {
  std::string_view of_library;
  std::string_view of_command;
};
constexpr std::array kNames{
    Name{"ClientOptions::hosts", "the hosts"},
    Name{"set ClientOptions::create_chroot", "use --create-chroot"},
    Name{"ClientOptions::session_timeout", "the session timeout"},
    Name{"ClientOptions::digest", "a digest file"},
    Name{"ClientOptions::acl", "the configuration"},
    Name{"AclPolicy::creator_all()", "\"acl = creator-all\""},
    Name{"call set_permits()", "use zklock permits --set"},
};

}  // namespace

std::string without_api_names(std::string text) {
  for (const Name& name : kNames) {
    for (std::size_t at = 0; (at = text.find(name.of_library, at)) != std::string::npos;) {
      text.replace(at, name.of_library.size(), name.of_command);
      at += name.of_command.size();
    }
  }
  return text;
}

std::string text_of(const Error& error) {
  std::string text = error.what();
  const std::string place = error.path() + ": ";
  const auto at = text.find(place);
  if (!error.path().empty() && at != std::string::npos) text.erase(0, at + place.size());
  return without_api_names(std::move(text));
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

bool is_settled(Client& client, Deadline deadline) {
  try {
    return client.is_connected() && client.flush(deadline);
  } catch (const Error&) {
    return false;
  }
}

std::string unconfirmed_text(Duration session_timeout) {
  return "the release is not confirmed: the lock becomes free when the session ends, at the latest "
         "in " +
         text_of(session_timeout);
}

}  // namespace zklock::cli
