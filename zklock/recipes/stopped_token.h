// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stop_token>

namespace zklock::recipes {

/// For who asks after a loss that the thread which stops the true token has not come to yet: the
/// asker is to know.
inline std::stop_token stopped_token() {
  std::stop_source stopped;
  stopped.request_stop();
  return stopped.get_token();
}

}  // namespace zklock::recipes
