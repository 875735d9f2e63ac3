#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs chaos with one command on a fresh Debian 12. Installs missing packages, and builds zklock
# with optimization in build/chaos. Then starts three real servers, and injects faults into them and
# into their clients.
#
#   tests/chaos/run.sh [--seconds N] [--seed S] [--json FILE] [--only CLASS]
#
# Default: 60 seconds and seed 1. Starting and coming to rest take about one minute more. The seed
# decides the order of the faults and the choices of the clients. The machine decides when each
# fault happens. ZKLOCK_CHAOS_BUILD: an existing build directory, used instead of building.
# ZKLOCK_CHAOS_JOBS: how many compile jobs run, 2 by default. Exit status 0: no promise was broken.
# 1: at least one was; the history is kept in build/chaos/chaos-S, and its path printed. See
# README.md beside this file.
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

unset ZKLOCK_HOSTS  # the run starts its own servers
cd "$here"          # relative file names refer to this directory
exec "$build/tests/chaos/zklock_chaos" --seconds "$seconds" --seed "$seed" --keep "$build" "${rest[@]}"
