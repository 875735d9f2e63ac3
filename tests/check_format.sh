#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fails if a page names code or a file that does not exist (check_architecture.py). Fails if a C++ source has more
# than 400 lines, or lacks the line of the license. Fails if its layout differs from .clang-format. This last check is
# skipped (77) without clang-format 14, because other versions differ in detail.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tests/check_architecture.py

# The tracked files, and the untracked ones that git does not ignore. Without git: all files.
if ! files=$(git ls-files --cached --others --exclude-standard -- '*.h' '*.cpp' 2>/dev/null); then
  files=$(find include zklock examples tests -name '*.h' -o -name '*.cpp')
fi
existing=()
while IFS= read -r file; do
  if [[ -f $file ]]; then existing+=("$file"); fi
done <<<"$files"
echo "checking ${#existing[@]} files"
license='^// SPDX-License-Identifier: Apache-2\.0$'
if grep -L -m 1 "$license" "${existing[@]}" | grep .; then
  echo "these files do not begin with: // SPDX-License-Identifier: Apache-2.0"
  exit 1
fi
if wc -l "${existing[@]}" | awk '$1 > 400 && $2 != "total"' | grep .; then
  echo "these files have more than 400 lines"
  exit 1
fi

clang_format=$(command -v clang-format-14 || command -v clang-format || true)
if [[ -z $clang_format || $("$clang_format" --version) != *"version 14."* ]]; then
  echo "no clang-format 14"
  exit 77
fi

"$clang_format" --style=file --dry-run -Werror "${existing[@]}"
