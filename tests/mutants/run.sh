#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Shows that the tests detect broken code, with one command on a fresh Debian 12. Installs missing
# packages and copies the sources to build/mutants. There it applies each mutant of this folder, builds,
# and runs the test that the mutant names, or the simulator if it names none. That must fail.
#
#   tests/mutants/run.sh [--seeds N] [NAME...]
#
# - --seeds N: seeds of the simulator for each mutant; default 8000
# - NAME: a mutant without .mutant; default: all
#
# First, the unchanged library must pass these tests. Ends with a table. The exit status is 1 if a
# mutant survives or does not apply.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
mutants=$PWD/tests/mutants

seeds=8000 names=()
usage() {
  echo "usage: $0 [--seeds N] [NAME...]" >&2
  exit 2
}
while (($# > 0)); do
  case "$1" in
    --seeds)
      [[ ${2-} =~ ^[0-9]+$ ]] || usage
      seeds=$2
      shift
      ;;
    -*) usage ;;
    *)
      [[ -f $mutants/$1.mutant ]] || usage
      names+=("$1")
      ;;
  esac
  shift
done
if ((${#names[@]} == 0)); then
  for mutant in "$mutants"/*.mutant; do names+=("$(basename "$mutant" .mutant)"); done
fi

# shellcheck source=tests/support/install_packages.sh
source tests/support/install_packages.sh
# shellcheck source=tests/support/same_compiler.sh
source tests/support/same_compiler.sh
zklock_install "${zklock_tests_packages[@]}" git

unset ZKLOCK_HOSTS
source=$PWD/build/mutants
work=$source/build/dev
mkdir -p "$work"
find "$source" -mindepth 1 -maxdepth 1 ! -name build -exec rm -r -- {} +
while IFS= read -r -d '' file; do
  if [[ -e $file ]]; then printf '%s\0' "$file"; fi
done < <(git ls-files -z --cached --others --exclude-standard) |
  tar -c --null -T - | tar -x -m -C "$source"  # new times: the last mutant is rebuilt

# apply NAME: saves the files that the mutant changes, and changes them. False if it does not apply.
apply() {
  local files
  rm -rf "$work/original"
  mkdir "$work/original"
  files=$("$mutants/mutate.py" files "$1") || return 1
  (cd "$source" && xargs -d '\n' cp --parents -t "$work/original" <<<"$files") || return 1
  "$mutants/mutate.py" apply "$1" --root "$source"
}

# Copies the saved files back, with new times, so that they are rebuilt.
restore() {
  cp -R "$work/original/." "$source"
}

keep_if_of_compiler "$work" clang++
mkdir -p "$work"
# Optimized a little, for the simulator and the walks. Warnings are no errors: a mutant may leave a
# parameter without use.
cmake --preset dev -S "$source" -B "$work" -DCMAKE_CXX_FLAGS_DEBUG=-O1 -DZKLOCK_WERROR=OFF \
  >"$work/configure.log"

# build TARGET: ends the script if the mutant does not compile, since that shows nothing.
build() {
  if cmake --build "$work" --parallel 2 --target "$1" >"$work/build.log" 2>&1; then
    program=$(find "$work" -type f -name "$1" -perm -u+x -print -quit)
    return
  fi
  tail -n 30 "$work/build.log" >&2
  echo "$1 does not compile" >&2
  exit 3
}

# Runs the simulator. True if it has found a violation; $found describes it.
simulator_fails() {
  build simulate
  if timeout 600 "$program" --seeds "$seeds" >"$work/run.log" 2>&1; then return 1; fi
  found=$(grep -m 1 -E '^seed [0-9]+: ' "$work/run.log" || tail -n 1 "$work/run.log")
  found="simulate, ${found:-it crashed}"
  found=$(cut -c -118 <<<"$found")
}

# test_fails TARGET FILTER: runs these tests. True if one failed; $found names it.
test_fails() {
  build "$1"
  if timeout 240 "$program" --gtest_filter="$2" >"$work/run.log" 2>&1; then return 1; fi
  local failed
  failed=$(grep -m 1 -oE '^\[  FAILED  \] [A-Za-z0-9_./]+' "$work/run.log" | cut -c 14- || true)
  found="$1, ${failed:-$2 crashed or did not end}"
}

# Prints a line for each of these mutants: the program and the filter of the test that it names. The line
# of the others is "simulate".
tests_of() {
  local name
  for name in "$@"; do
    sed -n 's/^Caught by: //p' "$mutants/$name.mutant" | grep . || echo simulate
  done
}

# fails TARGET [FILTER]: runs the simulator or these tests. True if that failed; $found says how.
fails() {
  if [[ $1 == simulate ]]; then simulator_fails; else test_fails "$@"; fi
}

# A test that fails without a mutant shows nothing.
echo "=== as it is" >&2
while read -r target; do
  filters=$(tests_of "${names[@]}" | sed -n "s/^$target //p" | paste -sd :)
  if fails "$target" "$filters" </dev/null; then
    echo "the library is broken already: $found" >&2
    exit 1
  fi
done < <(tests_of "${names[@]}" | cut -d ' ' -f 1 | sort -u)

caught=0
table=()
for name in "${names[@]}"; do
  echo "=== $name" >&2
  if ! apply "$name"; then
    by="DOES NOT APPLY"
  else
    by=SURVIVED
    read -r target filter < <(tests_of "$name")
    if fails "$target" "$filter"; then by=$found; fi
    restore
    if [[ $by == *,* ]]; then caught=$((caught + 1)); fi
  fi
  table+=("$(printf '%-36s %s' "$name" "$by")")
  echo "${table[-1]}" >&2
done

echo
printf '%-36s %s\n' mutant 'caught by'
printf '%s\n' "${table[@]}"
echo "$caught of ${#names[@]} were caught"
((caught == ${#names[@]}))
