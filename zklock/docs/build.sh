#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the site of the guides and the public headers. Fails if Doxygen has a warning, for example for a
# public member without a comment. Exits with 77 without the Debian packages doxygen and
# doxygen-awesome-css. Begin to read in DIRECTORY/index.html.
#
#   zklock/docs/build.sh DIRECTORY
set -euo pipefail
if (($# != 1)); then
  echo "usage: $0 DIRECTORY" >&2
  exit 2
fi
SITE=$(mkdir -p "$1" && cd "$1" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
AWESOME=/usr/share/doxygen-awesome-css
if ! command -v doxygen >/dev/null || [ ! -e "$AWESOME/doxygen-awesome.css" ]; then
  echo "The site needs the packages doxygen and doxygen-awesome-css." >&2
  exit 77
fi
VERSION=$(sed -n 's/^#define ZKLOCK_VERSION_STRING "\(.*\)"/\1/p' include/zklock/version.h)
export SITE AWESOME VERSION
doxygen zklock/docs/Doxyfile
echo "$SITE/index.html"
