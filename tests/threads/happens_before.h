// SPDX-License-Identifier: Apache-2.0
#pragma once

// To be included before everything else (-include) where helgrind is to run what is compiled: it
// does not know what a count of references orders, and the headers of libstdc++ have places to tell
// it. (See "Debugging: Data race hunting" in the manual of libstdc++.)
#include <valgrind/helgrind.h>

#define _GLIBCXX_SYNCHRONIZATION_HAPPENS_BEFORE(address) ANNOTATE_HAPPENS_BEFORE(address)
#define _GLIBCXX_SYNCHRONIZATION_HAPPENS_AFTER(address) ANNOTATE_HAPPENS_AFTER(address)
