#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and runs the tests with one command on a fresh Debian 12. Installs missing packages.
#
#   tests/run.sh [--all | PHASE...]    without arguments: dev
#   tests/run.sh --packages | --long
#
# The phases:
#
# - dev: clang without optimization, for a fast build. Runs unit tests, models, the tests of the API
#   and of the command on real servers, and the checks of layout and language. It finds nearly
#   everything.
# - asan: built as dev, with AddressSanitizer and UndefinedBehaviorSanitizer (for the code outside the
#   tests; without its checks of null, alignment and virtual calls). Runs what dev runs, and short
#   fuzzing.
# - tsan: built as dev, with ThreadSanitizer, without the command. Runs the unit, simulation,
#   conformance and integration tests that have several threads.
# - gcc: g++, with a shared and optimized library, warnings as errors and no precompiled headers.
#   Runs unit tests, walks, fork(), a minute of chaos, and the budget of a lock. Runs the suite over
#   every class on simulated servers, and Curator and Kazoo on one path. Also examples, packaging,
#   and clang-tidy of the library and the command.
#
# --all: asan, tsan and gcc, which also run what dev runs.
# --packages: only tests/packages/run.sh, which installs and uses the Debian packages in a clean
#   system. Run it after a change of the installation.
# --long: only the tests with the label long (see tests/CMakeLists.txt), in the build of the phase
#   gcc. They take more than an hour. Run them after a change of the protocol, and before a
#   release.
#
# The tests start their own ZooKeeper servers on free ports, and stop them. The build of a phase goes
# to build/PHASE, with a log beside it. Ends with a summary of the phases, which names the failed
# tests, and CTest's summary of the last phase. The exit status is 0 if every phase passed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

all_phases=(asan tsan gcc)
of_gcc='^(unit|simulation|walk|interop|fork|chaos|budget|example|packaging|tidy)$'
case "${1-}" in
  "") phases=(dev) ;;
  --all) phases=("${all_phases[@]}") ;;
  --packages) exec tests/packages/run.sh ;;
  --long)
    phases=(gcc)
    of_gcc='^long$'
    ;;
  *) phases=("$@") ;;
esac
for phase in "${phases[@]}"; do
  if [[ " dev ${all_phases[*]} " != *" $phase "* ]]; then
    echo "usage: $0 [--all | --packages | --long | PHASE...], with the phases dev ${all_phases[*]}" >&2
    exit 2
  fi
done

# shellcheck source=tests/support/install_packages.sh
source tests/support/install_packages.sh
zklock_install "${zklock_tests_packages[@]}"
[ -d /run/systemd/system ] || zklock_install "${zklock_monitoring_packages[@]}"

unset ZKLOCK_HOSTS  # the tests must use their own servers
export TSAN_OPTIONS="suppressions=$PWD/tests/support/tsan.supp second_deadlock_stack=1"
export CTEST_PARALLEL_LEVEL=6  # tests on servers spend most time waiting
mkdir -p build

# Sanitizers fail if the kernel randomizes addresses widely (vm.mmap_rnd_bits). In that case the tests
# run without address randomization.
without_aslr=()
probe=$(mktemp -d "${TMPDIR:-/tmp}/zklock-probe.XXXXXX")
trap 'rm -rf -- "$probe"' EXIT
for sanitizer in address thread; do
  echo 'int main() {}' | clang++ -x c++ -fsanitize="$sanitizer" -o "$probe/$sanitizer" -
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    if ! "$probe/$sanitizer" 2>/dev/null; then
      without_aslr=(setarch "$(uname -m)" --addr-no-randomize)
      break
    fi
  done
done

run_phase() {
  local phase=$1 compiler=clang++ selection=() build=("build/$1")
  case "$phase" in
    dev) selection=(--label-exclude '^(walk|long|chaos|tidy|interop|packaging|cli_hosts)$') ;;
    asan) selection=(--label-exclude '^(walk|long|chaos|tidy|interop|packaging)$') ;;
    tsan) selection=(--label-regex '^(unit|simulation|conformance|integration)$') ;;
    gcc)
      compiler=g++
      selection=(--label-regex "$of_gcc")
      build=(--preset gcc)  # without the programs of the other phases
      ;;
  esac
  # In a folder of another compiler, CMake would forget the other options of the preset.
  grep -qs "^CMAKE_CXX_COMPILER:.*[/=]$compiler\$" "build/$phase/CMakeCache.txt" || rm -rf "build/$phase"
  cmake --preset "$phase" && "${without_aslr[@]}" cmake --build "${build[@]}" --parallel 2 &&
    test_phase "$phase" "${selection[@]}" && forbid_skips "$phase"
}

# Fails if a test was skipped because its tool is missing: it is among the installed packages. Those of
# the monitoring group are not installed where systemd runs, and without dpkg none is.
forbid_skips() {
  command -v dpkg-query >/dev/null || return 0
  ! awk -F '"' '/<testcase / { name = $2 } /<skipped message="SKIP_RETURN_CODE/ { print name }' \
    "build/$1/tests.xml" | grep -vE '^(monitoring\.|guides\.postgresql_test$)'
}

# If a machine pauses for longer than a session timeout, that session expires and its test fails. So
# failed tests on real servers run once more, and the summary names them. A test is not repeated
# after the report of a sanitizer. Tests without servers are not repeated either, because they
# depend on no timing. Nor is chaos, because no pause of a machine may cause its findings.
test_phase() {
  local phase=$1 where="build/$1/Testing/Temporary"
  shift
  local run=("${without_aslr[@]}" ctest --test-dir "build/$phase" --output-on-failure
    --no-tests=error --timeout 300)
  rm -f "$where"/LastTestsFailed*.log "build/$phase".{failed,again}
  "${run[@]}" --output-junit tests.xml "$@" && return
  [ -e "$where/LastTestsFailed.log" ] || return
  name_what_failed "$where" >"build/$phase.failed"
  local report='ERROR: [A-Za-z]+Sanitizer|WARNING: ThreadSanitizer|runtime error:'
  ! grep -qE "$report" "$where/LastTest.log" || return 1
  ! ctest --test-dir "build/$phase" -N --label-regex '^(unit|model|walk|simulation|chaos|format|tidy)$' |
    sed -n 's/^ *Test *#[0-9]*: //p' |
    grep -Fxf <(cut -d: -f2- "$where/LastTestsFailed.log") >/dev/null || return 1  # reads all
  echo "=== $phase: once more what failed"
  "${run[@]}" --rerun-failed && mv "build/$phase.failed" "build/$phase.again"
}

# Prints a line for each failed test, or for each of its failed cases.
name_what_failed() {
  local cases
  cases=$(awk '
    / Testing: / { test = $3 }
    /^\[ RUN      \] / { running = $4 }
    /^\[ .* \([0-9]+ ms\)$/ { running = "" }
    /^\[  FAILED  \] .* \([0-9]+ ms\)$/ { sub(",$", "", $4); print test ": " $4 }
    /^<end of output>/ { if (running) print test ": " running " did not end"; running = "" }
  ' "$1/LastTest.log")
  while read -r test; do
    grep -F "$test: " <<<"$cases" || echo "$test"
  done < <(cut -d: -f2- "$1/LastTestsFailed.log")
}

failed=0
summary=()
for phase in "${phases[@]}"; do
  echo
  echo "=== $phase"
  begun=$SECONDS
  verdict=passed
  if ! run_phase "$phase" 2>&1 | tee "build/$phase.log"; then
    verdict=FAILED
    failed=1
  fi
  counts=$(grep -E '^[0-9]+% tests passed' "build/$phase.log" || echo "no tests were run")
  counts=$(head -n 1 <<<"$counts")
  summary+=("$(printf '%-6s %-7s %5d s   %s' "$phase" "$verdict" $((SECONDS - begun)) "$counts")")
  for outcome in failed again; do
    [ -e "build/$phase.$outcome" ] || continue
    note=$([ "$outcome" = failed ] && echo "failed:" || echo "passed when run once more:")
    while read -r name; do summary+=("         $note $name"); done <"build/$phase.$outcome"
  done
done

echo
echo "=== all phases, ${SECONDS} s"
printf '%s\n' "${summary[@]}"

# Prints CTest's summary again at the end.
echo
echo "=== $phase"
grep -n '% tests passed' "build/$phase.log" | tail -n 1 | cut -d: -f1 |
  xargs -I{} tail -n +{} "build/$phase.log"
exit "$failed"
