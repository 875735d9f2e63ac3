#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The short soak: see run.sh. What is said here comes after the two minutes, and counts.
exec "$(dirname "${BASH_SOURCE[0]}")/run.sh" --minutes 2 "$@"
