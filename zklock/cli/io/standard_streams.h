// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace zklock::cli {

/// Opens /dev/null for those of the descriptors 0 to 2 that are closed, so that no other file gets
/// their numbers. Output to the closed standard output still fails. A started program finds them
/// closed.
void fill_standard_streams() noexcept;

/// Writes the line to the standard error output. Does not block: if the output accepts nothing now,
/// the line is dropped. A line has at most 4,000 bytes.
void write_line(std::string line) noexcept;
/// Writes the line "zklock: PLACE: TEXT", as write_line(). `place`: a command and its path.
void say(const std::string& place, const std::string& text);

}  // namespace zklock::cli
