#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Many threads on shared objects, with one command on a fresh Debian 12. Installs missing packages,
# builds, and runs on its own servers:
#
# - tsan: a million local operations, and 20,000 cycles of the soak, under ThreadSanitizer
# - helgrind: a short run of the local operations under valgrind's helgrind
#
#   tests/threads/run.sh [tsan | helgrind]     without an argument: both
#
# Builds in build/tsan and build/helgrind, and takes about 20 minutes. ZKLOCK_THREADS_JOBS: how many
# compile jobs run, 2 by default. ZKLOCK_OPERATIONS, ZKLOCK_CYCLES and ZKLOCK_HELGRIND_OPERATIONS:
# the lengths of the runs. Exit status 1: a tool has reported an error. See README.md.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

case "${1-}" in
  "") tools=(tsan helgrind) ;;
  tsan | helgrind) tools=("$1") ;;
  *)
    echo "usage: $0 [tsan | helgrind]" >&2
    exit 2
    ;;
esac
operations=${ZKLOCK_OPERATIONS:-1000000}
cycles=${ZKLOCK_CYCLES:-20000}
short=${ZKLOCK_HELGRIND_OPERATIONS:-20000}
jobs=${ZKLOCK_THREADS_JOBS:-2}

# shellcheck source=tests/support/install_packages.sh
source tests/support/install_packages.sh
zklock_install "${zklock_demo_packages[@]}" libgtest-dev valgrind libc6-dbg

launcher=()
if command -v ccache >/dev/null; then launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi

# As in tests/run.sh: sanitizers of g++ 12 fail if the kernel randomizes addresses widely.
without_aslr=(setarch "$(uname -m)" --addr-no-randomize)

run_tsan() {
  cmake --preset tsan -DZKLOCK_BUILD_EXAMPLES=OFF "${launcher[@]}" >&2
  cmake --build --preset tsan --parallel "$jobs" --target zklock_threads zklock_soak >&2
  export TSAN_OPTIONS="suppressions=$PWD/tests/support/tsan.supp second_deadlock_stack=1"
  "${without_aslr[@]}" timeout 1800 build/tsan/tests/threads/zklock_threads --operations "$operations"
  "${without_aslr[@]}" timeout 3600 build/tsan/tests/soak/zklock_soak --cycles "$cycles"
}

run_helgrind() {
  # Neither inlined nor optimized, because the suppressions name functions.
  cmake -S . -B build/helgrind -G Ninja -DCMAKE_BUILD_TYPE=Debug -DZKLOCK_BUILD_EXAMPLES=OFF \
    -DCMAKE_CXX_FLAGS="-O0 -include $PWD/tests/threads/happens_before.h" "${launcher[@]}" >&2
  cmake --build build/helgrind --parallel "$jobs" --target zklock_threads >&2
  timeout 3600 valgrind --tool=helgrind --error-exitcode=1 --history-level=approx --num-callers=20 \
    --suppressions=tests/threads/helgrind.supp \
    build/helgrind/tests/threads/zklock_threads --operations "$short" --threads 3
}

for tool in "${tools[@]}"; do
  echo "=== $tool"
  "run_$tool"
done
