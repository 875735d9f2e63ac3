// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stop_token>

namespace zklock::detail {

/// Returns a stopped token. A caller gets it for a lost hold whose own loss token is not stopped
/// yet. So the caller learns of the loss at once.
inline std::stop_token stopped_token() {
  std::stop_source stopped;
  stopped.request_stop();
  return stopped.get_token();
}

}  // namespace zklock::detail
