// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace zklock::testing {

// The same servers and chroot, with one entry repeated when the names resolve to an even number of
// addresses: with an even number the C client may never reconnect (ZOOKEEPER-2466).
std::string with_odd_address_count(const std::string& hosts);

}  // namespace zklock::testing
