// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace zklock::testing {

// Returns `hosts`, with one entry repeated if its names resolve to an even number of addresses.
// With an even number the C client may never reconnect (ZOOKEEPER-2466).
std::string with_odd_address_count(const std::string& hosts);

}  // namespace zklock::testing
