// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "budget/meter.h"

namespace zklock::testing {

/// Returns the functions of zklock on each stack, from the outermost inwards, with file and line.
/// Functions of the standard library, among them std::function and std::visit, are left out, and so
/// are those of the tests. Calls addr2line.
std::vector<std::vector<std::string>> zklock_frames(const std::vector<Meter::Stack>& stacks);

/// Returns `lines`, each in a line of its own and numbered.
std::string numbered(const std::vector<std::string>& lines);

}  // namespace zklock::testing
