#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the demo with one command on a fresh Debian 12. Installs missing packages, builds, and starts
# a temporary ZooKeeper server, unless ZKLOCK_HOSTS names servers. Then runs examples/demo.cpp,
# which prints a timeline and checks the promises of zklock. The exit status says whether all were
# kept. Leaves nothing behind except the packages, and the build in build/demo.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=tests/support/install_packages.sh
source tests/support/install_packages.sh
zklock_install "${zklock_demo_packages[@]}"

build() {
  cmake --preset demo && cmake --build --preset demo
}
zklock_step "Building in build/demo" build

export ZKLOCK_TIMEOUT=${ZKLOCK_TIMEOUT:-60}
exec examples/with_server.sh build/demo/examples/demo {}
