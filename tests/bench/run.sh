#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The benchmark, with one command on a fresh Debian 12: installs what is missing, builds zklock with
# optimization in build/bench, starts a ZooKeeper server of its own, and compares zklock with
# Curator, Kazoo and the bare C client. Stops what it has started.
# ZKLOCK_BENCH_JOBS says how many jobs compile, 2 by default.
#   tests/bench/run.sh [--quick] [--json FILE] [--plot DIR] [--memory] [--only KEY...]
# A peer that cannot be installed is left out, and the table says so. The exit status is not 0 when
# a contestant failed, or let two in at once; never because of a figure. See README.md beside this.
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
cmake --build "$build" --parallel "${ZKLOCK_BENCH_JOBS:-2}" --target zklock_bench >&2

driver=$PWD/tests/bench/bench.py
cd "$here"  # the files are named from there
# Debian's own: that is where python3-kazoo is.
PYTHONDONTWRITEBYTECODE=1 exec /usr/bin/python3 "$driver" --build "$build" "$@"
