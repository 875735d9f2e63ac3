# SPDX-License-Identifier: Apache-2.0
# Source this file.
# shellcheck shell=bash

# keep_if_of_compiler DIR COMPILER: removes the build in DIR, if there is one of another compiler. With a new compiler
# in an old folder, CMake forgets the other options of the preset.
keep_if_of_compiler() {
  grep -qsF "(CMAKE_CXX_COMPILER \"$(command -v "$2")\")" "$1"/CMakeFiles/*/CMakeCXXCompiler.cmake || rm -rf "$1"
}
