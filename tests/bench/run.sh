#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the benchmark with one command on a fresh Debian 12. Installs missing packages, and builds
# zklock with optimization in build/bench. Then starts its own ZooKeeper server, and compares zklock
# with Curator, Kazoo and the bare C client. Stops everything that it has started.
# ZKLOCK_BENCH_JOBS: how many compile jobs run, 2 by default.
#
#   tests/bench/run.sh [--quick] [--json FILE] [--plot DIR] [--memory] [--only KEY...]
#                      [--rounds N] [--rtt TIME] [--ensemble]
#
# If a peer cannot be installed, it is left out, and the table says so. The exit status is not 0 if
# a contestant failed or granted a lock twice at a time. It never depends on a figure. See README.md
# beside this file.
set -euo pipefail
here=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# shellcheck source=tests/support/install_packages.sh
source tests/support/install_packages.sh
zklock_install "${zklock_demo_packages[@]}" libgtest-dev python3 iproute2
for peer in "libcurator-recipes-java openjdk-17-jdk-headless" python3-kazoo; do
  # shellcheck disable=SC2086  # two packages
  zklock_install $peer || echo "not installed: $peer" >&2
done

build=$PWD/build/bench
launcher=()
if command -v ccache >/dev/null; then launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
cmake --preset release -B "$build" -DCMAKE_CXX_FLAGS_RELEASE="-O2 -DNDEBUG" \
  -DZKLOCK_BUILD_BENCH=ON -DZKLOCK_BUILD_EXAMPLES=OFF "${launcher[@]}" >&2
cmake --build "$build" --parallel "${ZKLOCK_BENCH_JOBS:-2}" --target zklock_bench \
  zklock_bench_delay >&2

driver=$PWD/tests/bench/bench.py
cd "$here"  # relative file names refer to this directory
# Debian's own Python has python3-kazoo.
PYTHONDONTWRITEBYTECODE=1 exec /usr/bin/python3 "$driver" --build "$build" "$@"
