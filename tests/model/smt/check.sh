#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Proves the lease arithmetic for all times. Runs z3 on lease.smt2, and compares every answer with
# the expectation behind its check-sat. Exits with 77 if z3 is not installed. CTest then marks the
# test as skipped.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

if ! command -v z3 >/dev/null; then
  echo "lease proofs skipped: z3 is not installed; install the package z3" >&2
  exit 77
fi
failed=0
for proof in *.smt2; do
  # The answers are checked instead of z3's exit status. An error is one of them, and a timeout
  # leaves some out.
  answers=$(timeout 120 z3 "$proof") || true
  echo "$answers"
  if ! diff <(grep -xE 'sat|unsat|unknown' <<<"$answers") \
    <(sed -n 's/^(check-sat) ; expect \(.*\)$/\1/p' "$proof"); then
    echo "$proof: z3's answer differs from the comment \"; expect\" of its check-sat;" \
      "the difference is printed above" >&2
    failed=1
  fi
  if [[ $(grep -c '^(check-sat) ; expect unsat$' "$proof") == 0 ]] || grep -q '(error' <<<"$answers"; then
    echo "$proof: z3 reported an error, or the file has no check-sat with \"; expect unsat\";" \
      "see the answers above" >&2
    failed=1
  fi
done
exit "$failed"
