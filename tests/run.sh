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
#   tests; without its checks of null, alignment and virtual calls). Runs short fuzzing, and what dev
#   runs except the page in Chromium and the tests with three servers each. The suite runs each class
#   with one of asan and tsan on real servers, and with the other one on simulated servers.
# - tsan: built as dev, with ThreadSanitizer, without the command. Runs the unit, simulation,
#   conformance and integration tests that have several threads.
# - gcc: g++, with a shared and optimized library, warnings as errors and no precompiled headers.
#   Runs walks, fork(), a minute of chaos, and the budget of a lock. Runs Curator and Kazoo on one
#   path, and the page in Chromium. Also examples, packaging, and clang-tidy of the library and the
#   command.
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
of_gcc='^(walk|interop|fork|chaos|budget|example|packaging|tidy|page)$'
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
# shellcheck source=tests/support/same_compiler.sh
source tests/support/same_compiler.sh
zklock_install "${zklock_tests_packages[@]}"
[ -d /run/systemd/system ] || zklock_install "${zklock_monitoring_packages[@]}"

unset ZKLOCK_HOSTS  # the tests must use their own servers
export PATH=/usr/bin:$PATH  # the packages are for the system's Python, which also starts faster than a wrapper
# These save at least a tenth of the processor time of the tests: memory is used again sooner, and a report has
# fewer calls.
export ASAN_OPTIONS="quarantine_size_mb=32:malloc_context_size=10:allocator_release_to_os_interval_ms=-1"
export TSAN_OPTIONS="suppressions=$PWD/tests/support/tsan.supp second_deadlock_stack=1"
export CTEST_PARALLEL_LEVEL=6  # tests on servers spend most time waiting
mkdir -p build

# Each phase starts a hundred servers. They need less processor time with the classes from an archive, and
# without the optimizing compiler of Java. An archive is valid for one Java and one ZooKeeper, Debian's.
classes=$PWD/build/zookeeper.jsa
if [ -z "$(find "$classes" -newer /usr/share/java/zookeeper.jar -newer "$(readlink -f "$(command -v java)")" \
  2>/dev/null)" ]; then
  rm -f "$classes"
  ZKLOCK_ZOOKEEPER_CLASSPATH='' JAVA_TOOL_OPTIONS="-XX:ArchiveClassesAtExit='$classes.new'" \
    examples/with_server.sh true
  mv "$classes.new" "$classes"
fi
export JAVA_TOOL_OPTIONS="-XX:SharedArchiveFile='$classes' -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
  -Xlog:disable -Xlog:all=warning:stderr"  # with other classes, Java warns that it does not use the archive

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
    asan) selection=(--label-exclude '^(walk|long|chaos|tidy|interop|packaging|page|ensemble)$') ;;
    tsan) selection=(--label-regex '^(unit|simulation|conformance|integration)$') ;;
    gcc)
      compiler=g++
      selection=(--label-regex "$of_gcc")
      build=(--preset gcc)  # without the programs of the other phases
      ;;
  esac
  keep_if_of_compiler "build/$phase" "$compiler"
  cmake --preset "$phase" && "${without_aslr[@]}" cmake --build "${build[@]}" --parallel 2 &&
    test_phase "$phase" "${selection[@]}" && forbid_skips "$phase"
}

# Fails if a test was skipped because its tool is missing: it is among the installed packages. Those of
# the monitoring group are not installed where systemd runs, and without dpkg none is. The kernel can refuse gdb to
# trace a process.
forbid_skips() {
  command -v dpkg-query >/dev/null || return 0
  ! awk -F '"' '/<testcase / { name = $2 } /<skipped message="SKIP_RETURN_CODE/ { print name }' \
    "build/$1/tests.xml" | grep -vE '^(monitoring\.|guides\.postgresql_test$|gdb$)'
}

# Runs the tests, each once: a test that fails now and then has a fault, or the library has.
test_phase() {
  local phase=$1 where="build/$1/Testing/Temporary"
  shift
  rm -f "$where"/LastTestsFailed*.log
  "${without_aslr[@]}" ctest --test-dir "build/$phase" --output-on-failure --no-tests=error --timeout 300 \
    --output-junit tests.xml "$@" && return
  if [ -e "$where/LastTestsFailed.log" ]; then name_what_failed "$where" >"build/$phase.failed"; fi
  return 1
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
  rm -f "build/$phase.failed"
  if ! run_phase "$phase" 2>&1 | tee "build/$phase.log"; then
    verdict=FAILED
    failed=1
  fi
  counts=$(grep -E '^[0-9]+% tests passed' "build/$phase.log" || echo "no tests were run")
  counts=$(head -n 1 <<<"$counts")
  summary+=("$(printf '%-6s %-7s %5d s   %s' "$phase" "$verdict" $((SECONDS - begun)) "$counts")")
  [ -e "build/$phase.failed" ] || continue
  while read -r name; do summary+=("         failed: $name"); done <"build/$phase.failed"
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
