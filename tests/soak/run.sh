#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The soak, with one command on a fresh Debian 12: installs what is missing, builds with optimization
# in build/soak (or in the directory that ZKLOCK_SOAK_BUILD names), and locks and unlocks in every
# way there is, on a server of its own, with trouble; at every rest it looks for what is left.
#   tests/soak/run.sh [--minutes N] [--json FILE] [--threads N] [--seed N]
# It takes 30 minutes, or N, and a little more. ZKLOCK_SOAK_JOBS says how many jobs compile, 2 by
# default. The exit status is 1 when a bound is broken; the table says which. See README.md.
set -euo pipefail
here=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# shellcheck source=tests/support/build_optimized.sh
source tests/support/build_optimized.sh
build=${ZKLOCK_SOAK_BUILD:-$PWD/build/soak}
zklock_build_optimized "$build" "${ZKLOCK_SOAK_JOBS:-2}" zklock_soak

cd "$here"  # the file is named from there
exec "$build/tests/soak/zklock_soak" "$@"
