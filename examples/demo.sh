#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the demo with one command on a fresh Debian 12. Installs missing packages, builds, and starts
# a temporary ZooKeeper server, unless ZKLOCK_HOSTS names servers. Then runs examples/demo.cpp,
# which prints a timeline and checks the promises of zklock. The exit status says whether all were
# kept. Leaves nothing behind except the build in build/demo.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=tests/support/install_packages.sh
source tests/support/install_packages.sh
zklock_install "${zklock_demo_packages[@]}"

build=build/demo
log=$build.log
mkdir -p build
echo "Building in $build ..."
if ! {
  cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DZKLOCK_BUILD_TESTS=OFF &&
    cmake --build "$build" --parallel 2 --target demo contender
} >"$log" 2>&1; then
  tail -n 40 "$log" >&2
  echo "The build failed; all of it is in $log" >&2
  exit 1
fi

export ZKLOCK_TIMEOUT=${ZKLOCK_TIMEOUT:-60}
exec examples/with_server.sh "$build/examples/demo" {}
