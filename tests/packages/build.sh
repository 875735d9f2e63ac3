#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the Debian packages of zklock, and checks them with lintian: it reports no error. Writes
# them to build/packages, or to DIRECTORY. Two builds of one commit are equal byte for byte.
#
#   tests/packages/build.sh [DIRECTORY]
#
# Their time is SOURCE_DATE_EPOCH. If it is not set, the time of the commit is used.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=${1-build/packages}

# shellcheck source=tests/support/install_packages.sh
source tests/support/install_packages.sh
zklock_install "${zklock_packages_packages[@]}"

export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export DEB_BUILD_MAINT_OPTIONS=hardening=+all DEB_CXXFLAGS_MAINT_STRIP=-g
CXXFLAGS=$(dpkg-buildflags --get CXXFLAGS)\ $(dpkg-buildflags --get CPPFLAGS)
CFLAGS=$CXXFLAGS
LDFLAGS=$(dpkg-buildflags --get LDFLAGS)
export CXXFLAGS CFLAGS LDFLAGS
launcher=()
if command -v ccache >/dev/null; then launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi

cmake --preset packages -B "$build" "${launcher[@]}"
cmake --build "$build" --parallel 2
tests/packages/pack.sh "$build" error,warning
