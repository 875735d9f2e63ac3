#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the soak with one command on a fresh Debian 12. Installs missing packages, and builds with
# optimization in build/soak, or in the directory ZKLOCK_SOAK_BUILD. Then locks and unlocks in every
# way on its own server, with faults. At every rest it looks for leaks.
#   tests/soak/run.sh [--minutes N] [--json FILE] [--threads N] [--seed N]
# Takes 30 minutes, or N, and a little more. ZKLOCK_SOAK_JOBS: how many compile jobs run, 2 by
# default. Exit status 1: a bound is broken; the table says which. See README.md.
set -euo pipefail
here=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# shellcheck source=tests/support/build_optimized.sh
source tests/support/build_optimized.sh
build=${ZKLOCK_SOAK_BUILD:-$PWD/build/soak}
zklock_build_optimized "$build" "${ZKLOCK_SOAK_JOBS:-2}" zklock_soak

cd "$here"  # relative file names refer to this directory
exec "$build/tests/soak/zklock_soak" "$@"
