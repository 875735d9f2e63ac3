// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/error_text.h"

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

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

}  // namespace zklock::cli
