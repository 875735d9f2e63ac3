// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>

namespace zklock::cli {

/// A text that several connections send. May be null.
using SharedText = std::shared_ptr<const std::string>;

inline SharedText shared(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

}  // namespace zklock::cli
