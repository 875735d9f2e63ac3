// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "chaos/history.h"

namespace zklock::chaos {

// What in the history breaks a promise, a sentence each; empty: nothing. A pure function of the
// history, which costs one sort of the grants.
//
// - A lock is never held by more than it has parts for.
// - Of two grants of which one takes the whole lock, the one with the lower token is over when the
//   other is seen for the first time: neither do they overlap, nor do tokens run against time.
// - A grant whose call began after another had been granted has the greater token.
// - Two owners never have the same token.
// - A holder that lost was told so once, by its stop token and by its listener; nobody was twice.
// - A resource accepts nothing older than it has seen, and refuses nothing else; above all nothing
//   of a holder that was valid before and after.
//
// The first three are together what it takes that the history is that of a lock whose calls took
// effect one after the other, each between its beginning and its end, which a test compares with.
std::vector<std::string> check(const History& history);

}  // namespace zklock::chaos
