// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "chaos/history.h"

namespace zklock::chaos {

// Returns one sentence for each broken promise in the history. A pure function; it sorts the grants
// once.
//
// | promise                                                                                     |
// |---------------------------------------------------------------------------------------------|
// | 1. Clients never hold more of a lock than its capacity.                                     |
// | 2. Of two grants of one lock, at least one of its whole capacity, the grant with the lower  |
// |    token has ended before the other is first seen. So tokens increase with time.            |
// | 3. If a call began after another grant was first seen, its grant has the higher token.      |
// | 4. Two owners never have one token.                                                         |
// | 5. The stop token and the listener of a lost holder are each notified exactly once.         |
// | 6. A resource refuses a token if and only if it has seen a higher one; for a reader, a      |
// |    higher one of a writer. It never refuses a holder that was valid before and after.       |
//
// Promises 1 to 3 imply that the calls of a lock took effect in some order, each between its begin
// and its end. They are also necessary for that. A test compares the checker with this definition.
std::vector<std::string> check(const History& history);

}  // namespace zklock::chaos
