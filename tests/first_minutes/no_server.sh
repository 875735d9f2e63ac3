#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs each program with the address of no server. It must exit with 1 within 10 s, after lines that
# name the address, the cause and a remedy.
#
#   tests/first_minutes/no_server.sh PROGRAM...
set -euo pipefail

work=$(mktemp -d "${TMPDIR:-/tmp}/zklock-no-server.XXXXXX")
trap 'rm -rf -- "$work"' EXIT
for program in "$@"; do
  {
    status=0
    timeout 10 "$program" 127.0.0.1:1 >"$work/${program##*/}" 2>&1 || status=$?
    echo "exit status $status" >>"$work/${program##*/}"
  } &
done
wait
failed=0
for program in "$@"; do
  for line in '127\.0\.0\.1:1 refused the connection' 'examples/with_server\.sh' '^exit status 1$'; do
    if ! grep -q "$line" "$work/${program##*/}"; then
      echo "$program prints no line that matches '$line', but:" >&2
      cat "$work/${program##*/}" >&2
      failed=1
    fi
  done
done
exit "$failed"
