#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compares the symbols that a shared zklock exports with two lists in this folder. Fails with the
# difference. exported_symbols.txt has all symbols. released_symbols.txt has the SONAME and the
# symbols of the last release: a library with that SONAME must still export them.
#
#   tests/exports/check.sh LIBRARY              compares
#   tests/exports/check.sh --renew LIBRARY      writes the first list
#   tests/exports/check.sh --release LIBRARY    writes the second list, at a release
set -euo pipefail

mode=
if [[ ${1-} == --renew || ${1-} == --release ]]; then
  mode=$1
  shift
fi
if (($# != 1)); then
  echo "usage: $0 [--renew | --release] LIBRARY" >&2
  exit 2
fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
list=$here/exported_symbols.txt
released=$here/released_symbols.txt

# The demangled names without the addresses and types. The constructors and destructors of a class
# have several symbols with one name.
exported=$(nm -DC --defined-only "$1" | cut -d ' ' -f 3- | LC_ALL=C sort -u)
soname=$(objdump -p "$1" | sed -n 's/^ *SONAME *//p')

# Parameters may have internal types, but an exported function does not.
if grep -E '^[^(]*zklock::(client|core|detail)::' <<<"$exported" >&2; then
  echo "Internal names are exported." >&2
  exit 1
fi
if [[ $mode == --renew ]]; then
  printf '%s\n' "$exported" >"$list"
elif [[ $mode == --release ]]; then
  # The test kit belongs to one exact version, and its symbol has that version.
  { echo "$soname" && grep -v '^zklock::testing::detail::' <<<"$exported"; } >"$released"
elif ! diff -u --label "$list" --label "$1" "$list" <(printf '%s\n' "$exported"); then
  echo "The exported symbols differ from the list. If this is intended: $0 --renew $1" >&2
  exit 1
fi
if [[ $(head -n 1 "$released") == "$soname" ]] &&
  LC_ALL=C comm -13 <(printf '%s\n' "$exported") <(tail -n +2 "$released") | grep . >&2; then
  echo "$soname of the last release exports these symbols. Raise SOVERSION in zklock/CMakeLists.txt." >&2
  exit 1
fi
