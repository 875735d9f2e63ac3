// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stop_token>

namespace zklock::detail {

/// Returns a stopped token. The query for the loss token of a hold returns it if the hold is lost,
/// but the hold's own token is not stopped yet. So the caller learns of the loss at once.
inline std::stop_token stopped_token() {
  std::stop_source stopped;
  stopped.request_stop();
  return stopped.get_token();
}

}  // namespace zklock::detail
