#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compares the symbols that a shared zklock exports with the list in this folder. Fails with the
# difference.
#
#   tests/exports/check.sh LIBRARY            compares
#   tests/exports/check.sh --renew LIBRARY    writes the list
set -euo pipefail

renew=
if [[ ${1-} == --renew ]]; then
  renew=yes
  shift
fi
if (($# != 1)); then
  echo "usage: $0 [--renew] LIBRARY" >&2
  exit 2
fi
list=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/exported_symbols.txt

# The demangled names without the addresses and types. The constructors and destructors of a class
# have several symbols with one name.
exported=$(nm -DC --defined-only "$1" | cut -d ' ' -f 3- | LC_ALL=C sort -u)

# Parameters may have internal types, but an exported function does not.
if grep -E '^[^(]*zklock::(client|core|detail)::' <<<"$exported" >&2; then
  echo "Internal names are exported." >&2
  exit 1
fi
if [[ -n $renew ]]; then
  printf '%s\n' "$exported" >"$list"
elif ! diff -u --label "$list" --label "$1" "$list" <(printf '%s\n' "$exported"); then
  echo "The exported symbols differ from the list. If this is intended: $0 --renew $1" >&2
  exit 1
fi
