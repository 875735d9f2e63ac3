// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace zklock::bench {

/// Returns a value from /proc/self/status. Throws std::runtime_error if there is none.
double status_of_process(const std::string& key);

}  // namespace zklock::bench
