#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Shows that the tests detect broken code, with one command on a fresh Debian 12. Installs missing
# packages and copies the sources to build/mutants. There, for every mutant of this folder, it
# applies the mutant, builds, and runs the simulator. If the simulator passes, it runs the test that
# the mutant names. One of the two must fail.
#
#   tests/mutants/run.sh [--seeds N] [NAME...]
#
# - --seeds N: seeds of the simulator for each mutant; default 20000
# - NAME: a mutant without .mutant; default: all
#
# First, the unchanged library must pass these tests. Ends with a table. The exit status is 1 if a
# mutant survives or does not apply.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
mutants=$PWD/tests/mutants

seeds=20000 names=()
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
zklock_install "${zklock_tests_packages[@]}" git

unset ZKLOCK_HOSTS
# This build has the relative paths and the configuration of other builds, so that the compiler's
# cache has most of its objects.
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

launcher=()
if command -v ccache >/dev/null; then
  launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  export CCACHE_BASEDIR=$source CCACHE_NOHASHDIR=1
fi
# CMake's own flags for this build type turn the assertions off.
cmake -S "$source" -B "$work" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DZKLOCK_WERROR=ON \
  "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O2 -g" \
  -DZKLOCK_BUILD_EXAMPLES=OFF "${launcher[@]}" >"$work/configure.log"

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
  found="$1, ${failed:-$2 did not end}"
}

# True if the mutant changes only the command or the test kit, which the simulator does not run.
is_outside_library() {
  ! "$mutants/mutate.py" files "$1" | grep -qv '^zklock/\(cli\|testing/fake\)/'
}

# Prints the test that a mutant names for faults that the simulator cannot see.
test_of() {
  sed -n 's/^Else caught by: //p' "$mutants/$1.mutant"
}

echo "=== as it is" >&2
if simulator_fails; then
  echo "the library is broken already: $found" >&2
  exit 1
fi

caught=0
table=()
for name in "${names[@]}"; do
  echo "=== $name" >&2
  if ! apply "$name"; then
    by="DOES NOT APPLY"
  else
    by=SURVIVED
    if ! is_outside_library "$name" && simulator_fails; then
      by=$found
    elif read -r target filter < <(test_of "$name") && test_fails "$target" "$filter"; then
      by=$found
    fi
    restore
    # A test that also fails without the mutant shows nothing.
    if [[ $by != SURVIVED && $by != simulate,* ]] && test_fails "$target" "$filter"; then
      by="FAILS WITHOUT IT AS WELL"
    fi
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
