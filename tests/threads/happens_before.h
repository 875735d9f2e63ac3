// SPDX-License-Identifier: Apache-2.0
#pragma once

// For helgrind builds: included before all other headers (-include). helgrind does not know that a
// reference count orders memory accesses. The headers of libstdc++ have hooks for that. (See
// "Debugging: Data race hunting" in the manual of libstdc++.)
#include <valgrind/helgrind.h>

#define _GLIBCXX_SYNCHRONIZATION_HAPPENS_BEFORE(address) ANNOTATE_HAPPENS_BEFORE(address)
#define _GLIBCXX_SYNCHRONIZATION_HAPPENS_AFTER(address) ANNOTATE_HAPPENS_AFTER(address)
