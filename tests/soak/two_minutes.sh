#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The short soak: see run.sh. Arguments given here come after `--minutes 2` and take precedence.
exec "$(dirname "${BASH_SOURCE[0]}")/run.sh" --minutes 2 "$@"
