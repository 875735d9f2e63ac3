#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks the models of this folder exhaustively with spin, and that it finds each BREAK_... in them.
# Without an argument the queue is small; this takes half a minute. With --full there are three
# clients with two acquisitions and one fault each, and any number of packets in the lease; this
# takes minutes.
# Exits with 77 if spin is not installed. CTest then marks the test as skipped.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

full=false
store=()
optimize=-O0  # most models are so small that compiling them takes the time
case "${1-}" in
  "") ;;
  --full)
    full=true
    store=(-DCOLLAPSE)  # half the speed, but the states fit into the memory
    optimize=-O2
    ;;
  *)
    echo "usage: $0 [--full]" >&2
    exit 2
    ;;
esac
if ! command -v spin >/dev/null; then
  echo "spin is not installed" >&2
  exit 77
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/zklock-promela.XXXXXX")
trap 'rm -rf -- "$work"' EXIT
cd "$work"
failed=0

# check EXPECTED MODEL DEFINITIONS [safety | liveness]: EXPECTED is holds or breaks.
check() {
  local expected=$1 model=$2 definitions=$3 kind=${4-safety} compile=(-DSAFETY) run=(-m4000000)
  if [[ $expected == breaks ]]; then run=(-m100000); fi  # found early
  if [[ $kind == liveness ]]; then
    compile=(-DNFAIR=3)
    run+=(-a -f)
    definitions+=" -DLIVENESS"
  fi
  rm -f pan* ./*.trail
  # shellcheck disable=SC2086  # several definitions
  spin $definitions -a "$here/$model.pml" >spin.log || { cat spin.log && exit 1; }
  gcc "$optimize" -w -DMEMLIM=12000 "${store[@]}" "${compile[@]}" -o pan pan.c
  ./pan "${run[@]}" >pan.log || true
  local errors states found=holds
  errors=$(sed -n 's/.*errors: \([0-9]*\)$/\1/p' pan.log)
  states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' pan.log)
  if ! grep -q '^Full statespace search' pan.log || [[ -z $errors ]]; then found="no answer"; fi
  if [[ ${errors:-0} != 0 ]]; then
    found=breaks
  elif grep -qE 'Search not completed|max search depth too small|out of memory' pan.log; then
    found="not completed"
  fi
  printf '%-6s %-9s %-50s %9s states   %s\n' "$model" "$kind" "${definitions:--}" "$states" "$found"
  if [[ $found == "$expected" ]]; then return; fi
  echo "       but it should be: $expected" && grep '^pan:' pan.log
  failed=1
}

if $full; then
  check holds queue "-DCLIENTS=3 -DROUNDS=2"
  check holds queue "-DCLIENTS=3 -DROUNDS=2" liveness
  check holds lease "-DPACKETS=9"
fi
check holds queue "-DCLIENTS=2 -DROUNDS=2 -DFAULTS=2"
check holds queue "-DCLIENTS=2 -DROUNDS=2" liveness
check holds queue "-DCLIENTS=3 -DROUNDS=1"
for break in NO_PROOF NO_NODE_WAITS DELETED_IS_GRANT GRANT_WITHOUT_LEASE CANCEL_LEAVES_NODE \
  CANCEL_ANNOUNCES RELEASE_IS_DROPPED; do
  check breaks queue "-DCLIENTS=3 -DROUNDS=1 -DBREAK_$break"
done
check breaks queue "-DCLIENTS=2 -DROUNDS=2 -DBREAK_TURN_WITHOUT_GRANT"
check holds lease "-DPACKETS=4"
check holds lease "-DJITTER=0 -DDRIFT=2"
check breaks lease "-DJITTER=1 -DDRIFT=2"
for break in RECEIVE_TIME PINGS HANDSHAKE GAP_IGNORED GAP_COUNTED_ONCE RELAYED_WITHOUT_LATENESS; do
  check breaks lease "-DBREAK_$break"
done
exit "$failed"
