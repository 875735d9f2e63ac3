#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fuzzes with libFuzzer, AddressSanitizer and UndefinedBehaviorSanitizer, with one command on a
# fresh Debian 12. Installs missing packages, builds the targets in build/fuzz, and runs them in
# turn.
#
#   tests/fuzz/run.sh [--runs N] [--seconds N] [--keep] [TARGET...]
#
# - --runs N: inputs for each target; default 10000000, and 200000 for the engine
# - --seconds N: ends each target after this time, if that is earlier
# - --keep: adds new inputs to corpus/TARGET.tar.xz, merged and minimized
# - TARGET: node_name queue node_data path hosts arguments command_line acquire engine; default: all
#
# Ends with a table. An input that breaks a promise is stored as build/fuzz/found/TARGET-crash-...,
# and the exit status is 1. To run it again: build/fuzz/tests/fuzz/fuzz_TARGET FILE
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

all=(node_name queue node_data path hosts arguments command_line acquire engine)
runs='' seconds=0 keep=false targets=()
usage() {
  echo "usage: $0 [--runs N] [--seconds N] [--keep] [TARGET...]" >&2
  exit 2
}
while (($# > 0)); do
  case "$1" in
    --runs | --seconds)
      [[ ${2-} =~ ^[0-9]+$ ]] || usage
      if [[ $1 == --runs ]]; then runs=$2; else seconds=$2; fi
      shift
      ;;
    --keep) keep=true ;;
    -*) usage ;;
    *)
      [[ " ${all[*]} " == *" $1 "* ]] || usage
      targets+=("$1")
      ;;
  esac
  shift
done
if ((${#targets[@]} == 0)); then targets=("${all[@]}"); fi

# shellcheck source=tests/support/install_packages.sh
source tests/support/install_packages.sh
zklock_install "${zklock_tests_packages[@]}"

launcher=()
if command -v ccache >/dev/null; then launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
cmake --preset fuzz "${launcher[@]}" >&2
cmake --build build/fuzz --parallel 2 --target "${targets[@]/#/fuzz_}" >&2

found=$PWD/build/fuzz/found
mkdir -p "$found"
work=$(mktemp -d "${TMPDIR:-/tmp}/zklock-fuzz.XXXXXX")
trap 'rm -rf -- "$work"' EXIT

failed=0
table=$(printf '%-10s %12s %10s %8s   %s' target runs runs/s corpus verdict)
for target in "${targets[@]}"; do
  corpus=build/fuzz/tests/fuzz/corpus/$target  # unpacked by the build
  longest=128 wanted=${runs:-10000000}
  if [[ $target == engine ]]; then
    longest=512 wanted=${runs:-200000}
  fi
  program=build/fuzz/tests/fuzz/fuzz_$target
  mkdir -p "$work/$target"
  verdict=passed
  # libFuzzer writes new inputs to the first folder.
  "$program" -runs="$wanted" -max_total_time="$seconds" -max_len="$longest" -timeout=10 \
    -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="$found/$target-" \
    "$work/$target" "$corpus" >"build/fuzz/$target.log" 2>&1 || verdict=BROKEN
  done_runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "build/fuzz/$target.log")
  rate=$(sed -n 's/^stat::average_exec_per_sec: *//p' "build/fuzz/$target.log")
  if [[ $verdict == BROKEN ]]; then
    failed=1
    grep -E '^BROKEN|ERROR|runtime error|Test unit written' "build/fuzz/$target.log" >&2 || true
  elif $keep; then
    mkdir "$work/merged"
    "$program" -merge=1 -max_len="$longest" "$work/merged" "$corpus" "$work/$target" \
      >"build/fuzz/$target.merge.log" 2>&1
    find "$work/merged" -type f -exec tests/fuzz/add_inputs.sh "$target" {} +
    rm -r "$work/merged"
  fi
  table+=$'\n'$(printf '%-10s %12s %10s %8s   %s' "$target" "${done_runs:--}" "${rate:--}" \
    "$(find "$corpus" -type f | wc -l)" "$verdict")
  tail -n 1 <<<"$table" >&2
done
echo
echo "$table"
exit "$failed"
