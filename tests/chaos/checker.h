// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "chaos/history.h"

namespace zklock::chaos {

// Returns one sentence for each broken promise in the history. A pure function; it sorts the grants
// once. The promises:
//
// - Clients never hold more of a lock than its capacity.
// - Consider two grants of one lock, at least one of them of its whole capacity. The one with the
//   lower token has ended before the other is first seen. So they do not overlap, and tokens
//   increase with time.
// - If a call began after another grant was first seen, its grant has the higher token.
// - Two owners never have one token.
// - A lost holder was notified once by its stop token and once by its listener. No notification
//   comes twice.
// - A resource refuses a token if and only if it has seen a higher one; for a reader, a higher one
//   of a writer. In particular, it never refuses a holder that was valid before and after.
//
// The first three promises together are equivalent to this: the calls of a lock took effect one
// after the other, each between its begin and its end. A test compares the checker with that
// definition.
std::vector<std::string> check(const History& history);

}  // namespace zklock::chaos
