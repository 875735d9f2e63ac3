// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "zklock/error.h"

namespace zklock::cli {

/// Returns the cause of the error and its code, without the operation and the path, which zklock's
/// own lines have already.
[[nodiscard]] inline std::string text_of(const Error& error) {
  const std::string text = error.what();
  const std::string place = error.path() + ": ";
  const auto at = text.find(place);
  return error.path().empty() || at == std::string::npos ? text : text.substr(at + place.size());
}

}  // namespace zklock::cli
