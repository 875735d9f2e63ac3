// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "zklock/cli/io/unique_fd.h"

namespace zklock::cli {

/// The file of a report, which can be written several times.
///
/// | the name, with its links resolved  | effect of write()                                     |
/// |------------------------------------|-------------------------------------------------------|
/// | a regular file, or none            | writes NAME.PID.tmp beside it, and renames that to it |
/// | /dev/fd/N, or another name of it   | appends to descriptor N of this process               |
/// | a device or a named pipe           | opens it, and writes to it                            |
///
/// Thread-safety: one thread.
class ReportFile {
 public:
  /// Checks that the report can be written. An open descriptor is duplicated now, because another
  /// file can have its number later. Throws: Failure with ExitCode::kData.
  explicit ReportFile(const std::string& name);

  /// Blocks for at most some seconds while a pipe or a device accepts no output. A named pipe
  /// without a reader is an error. Throws: Failure.
  void write(const std::string& text) const;

 private:
  const std::string shown_;  ///< the name in texts
  std::string target_;       ///< the name without links
  UniqueFd fd_;              ///< of /dev/fd/N
  bool is_replaced_ = true;  ///< by a rename
};

}  // namespace zklock::cli
