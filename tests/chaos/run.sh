#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Chaos, with one command on a fresh Debian 12: installs what is missing, builds zklock with
# optimization in build/chaos, and torments clients on three real servers, which it starts and stops.
#   tests/chaos/run.sh [--seconds N] [--seed S] [--json FILE] [--only CLASS]
# 60 seconds and seed 1 by default; a minute more goes by until all is started, and at rest again. The
# seed says which faults come in which order, and what the clients choose; when each happens is the
# machine's. ZKLOCK_CHAOS_BUILD names a build directory to be used instead, which is not built then;
# ZKLOCK_CHAOS_JOBS says how many jobs compile, 2 by default.
# The exit status is 0 if no promise was broken; 1 if one was: then the history is kept in
# build/chaos/chaos-S, and named. See README.md beside this.
set -euo pipefail
here=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

seconds=60 seed=1
rest=()
while (($# > 0)); do
  if (($# < 2)); then set -- --usage; fi
  case "$1" in
    --seconds) seconds=$2 ;;
    --seed) seed=$2 ;;
    --json | --only) rest+=("$1" "$2") ;;
    *)
      echo "usage: $0 [--seconds N] [--seed S] [--json FILE] [--only CLASS]" >&2
      exit 2
      ;;
  esac
  shift 2
done

build=${ZKLOCK_CHAOS_BUILD-}
if [ -z "$build" ]; then
  # shellcheck source=tests/support/build_optimized.sh
  source tests/support/build_optimized.sh
  build=$PWD/build/chaos
  zklock_build_optimized "$build" "${ZKLOCK_CHAOS_JOBS:-2}" zklock_chaos
else
  build=$(cd "$here" && cd "$build" && pwd)
fi

unset ZKLOCK_HOSTS  # the servers are its own
cd "$here"          # the files are named from there
exec "$build/tests/chaos/zklock_chaos" --seconds "$seconds" --seed "$seed" --keep "$build" "${rest[@]}"
