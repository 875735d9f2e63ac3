#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs clang-tidy 14 with the checks of .clang-tidy. Prints the findings, and fails if there are any.
# Exits with 77, which CTest reports as skipped, if clang-tidy 14 is missing. Other versions have other
# findings.
#
#   tests/tidy.sh             the library and the command, with their headers
#   tests/tidy.sh --all       those, the tests, the examples and the benchmark
#   tests/tidy.sh FILE...     the sources FILE..., one by one, and the headers that they include
#
# Without FILE it checks several sources of a target at once, which is much faster.
# Configures build/tidy for the commands of the compiler, and builds nothing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

clang_tidy=$(command -v clang-tidy-14 || command -v clang-tidy || true)
if [[ -z $clang_tidy || $("$clang_tidy" --version) != *"version 14."* ]]; then
  echo "no clang-tidy 14"
  exit 77
fi

unity=ON
left_out="^$PWD/(build/tidy/)?(tests|examples)/"
case "${1-}" in
  "") ;;
  --all) left_out='^$' ;;
  *) unity=OFF ;;
esac
cmake --preset dev -B build/tidy -DZKLOCK_FAST_BUILD=OFF -DCMAKE_UNITY_BUILD="$unity" \
  -DCMAKE_UNITY_BUILD_BATCH_SIZE=24 -DZKLOCK_BUILD_BENCH=ON -DZKLOCK_BUILD_EXAMPLES=ON \
  -DZKLOCK_BUILD_FUZZ=ON >/dev/null

# CMake writes a line for each source. Some targets compile sources of the library a second time, or
# each header alone.
sources=$(sed -n 's/^ *"file": "\(.*\)",\{0,1\}$/\1/p' build/tidy/compile_commands.json |
  grep -vE '/(zklock_unoptimized|zklock_fuzz_pure)\.dir/|/build/tidy/.*/(public/|page\.cpp)' | sort -u)
if [ "$unity" = OFF ]; then
  sources=$(grep -xFf <(realpath "$@") <<<"$sources")
else
  sources=$(grep -vE "$left_out" <<<"$sources")
  # Most of the work is for the headers. So the sources of several targets are checked as one.
  for targets in core,client_port,client_threads,client_zookeeper,engine recipes,fake,servers,simulation \
    cli,cli_core,cli_io,cli_commands cli_views_core,cli_views_io; do
    parts=$(grep -E "/zklock_(${targets//,/|})\.dir/" <<<"$sources") || {
      echo "no sources of the targets $targets" >&2
      exit 1
    }
    several=$(dirname "$(tail -n 1 <<<"$parts")")/several.cxx  # compiled as those beside it
    sed 's/.*/#include "&"/' <<<"$parts" >"$several"
    sources=$(grep -vxF "$parts" <<<"$sources")$'\n'$several
  done
fi
echo "checking $(wc -l <<<"$sources") translation units"

# CMake's unity sources include files with the suffix .cpp.
tr '\n' '\0' <<<"$sources" |
  nice xargs -0 -n 1 -P 2 "$clang_tidy" -p build/tidy --quiet --warnings-as-errors='*' \
    --checks=-bugprone-suspicious-include 2>&1 | { grep -vE '^[0-9]+ warnings?( treated as errors?| generated)' || true; }
