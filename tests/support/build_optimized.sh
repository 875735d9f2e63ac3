# SPDX-License-Identifier: Apache-2.0
# For scripts that run with one command on a fresh Debian 12. Source this file in the top folder.
# shellcheck shell=bash

# shellcheck source=tests/support/install_packages.sh
source tests/support/install_packages.sh

# zklock_build_optimized DIR JOBS TARGET: installs missing packages, and builds TARGET in DIR.
zklock_build_optimized() {
  zklock_install "${zklock_demo_packages[@]}" libgtest-dev
  local launcher=()
  if command -v ccache >/dev/null; then launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
  # CMake's own flags for this build type turn the assertions off.
  cmake -S . -B "$1" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O2 -g" \
    -DZKLOCK_BUILD_EXAMPLES=OFF "${launcher[@]}" >&2
  cmake --build "$1" --parallel "$2" --target "$3" >&2
}
