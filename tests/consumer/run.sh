#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs a build of zklock to a temporary prefix. Builds the project of this folder against it,
# once with find_package and once with make and pkg-config. Then runs both programs on a server. The
# program kit_consumer uses the test kit, and needs no server.
#
#   tests/consumer/run.sh BUILD_DIR
set -euo pipefail

if (($# != 1)); then
  echo "usage: $0 BUILD_DIR" >&2
  exit 2
fi
build=$(cd "$1" && pwd)
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$here/../..

# The library's own compiler and sanitizers.
cached() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"; }
CXX=$(cached CMAKE_CXX_COMPILER)
generator=$(cached CMAKE_GENERATOR)
build_type=$(cached CMAKE_BUILD_TYPE)
sanitize=$(cached ZKLOCK_SANITIZE)
flags=
if [[ -n $sanitize ]]; then flags=-fsanitize=$sanitize; fi
export CXX

work=$(mktemp -d "${TMPDIR:-/tmp}/zklock-consumer.XXXXXX")
trap 'rm -rf -- "$work"' EXIT
prefix=$work/prefix

cmake --install "$build" --prefix "$prefix"

echo "Installed:"
(cd "$prefix" && find . ! -type d | sort)
if find "$prefix/include" ! -type d ! -path '*/include/zklock/*.h' | grep -q .; then
  echo "something else than public headers was installed in include/" >&2
  exit 1
fi

for file in tsan.supp zklock_gdb.py monitoring/alerts.yml monitoring/dashboard.json; do
  test -s "$prefix/share/zklock/$file"
done
if [[ $(cached ZKLOCK_BUILD_CLI) == ON ]]; then "$prefix/bin/zklock" --version; fi

# CMake. find_package must find the installed zklock, not another one in the system.
cmake -S "$here" -B "$work/cmake" -G "$generator" -DCMAKE_BUILD_TYPE="$build_type" \
  -DCMAKE_CXX_FLAGS="$flags" -DCMAKE_PREFIX_PATH="$prefix"
grep "^zklock_DIR:PATH=$prefix/" "$work/cmake/CMakeCache.txt"
cmake --build "$work/cmake" --verbose
"$work/cmake/kit_consumer"
if cmake -S "$here" -B "$work/unknown" -G "$generator" -DCMAKE_PREFIX_PATH="$prefix" \
  -DMORE_COMPONENTS=unknown >"$work/unknown.log" 2>&1; then
  echo "find_package finds an unknown component" >&2
  exit 1
fi
grep -q "component unknown of zklock is not installed" "$work/unknown.log"

# As a part of another project, zklock builds the library alone. The warning flags of the project concern its own
# code and the public headers. With them, an engine source would not compile.
cmake -S "$here" -B "$work/part" -G Ninja -DCMAKE_BUILD_TYPE="$build_type" -DCMAKE_CXX_STANDARD=20 \
  -DZKLOCK_SOURCE_DIR="$(realpath "$root")" -DCMAKE_CXX_FLAGS="-Werror -Wall -Wextra -Wconversion -Wpedantic \
  -Wsign-conversion -Wold-style-cast -Wnon-virtual-dtor -Woverloaded-virtual"
if ninja -C "$work/part" -t targets all | grep -E 'zklock/(examples|tests|zklock/(cli|testing))/.*\.o:'; then
  echo "FetchContent builds more than the library" >&2
  exit 1
fi
DESTDIR=$work/nothing cmake --install "$work/part"
if [[ -e $work/nothing ]] && find "$work/nothing" ! -type d | grep .; then
  echo "a project that fetches zklock installs it too" >&2
  exit 1
fi
ninja -C "$work/part" CMakeFiles/consumer.dir/consumer.cpp.o \
  _deps/zklock-build/zklock/engine/CMakeFiles/zklock_engine.dir/session/lease_keeper.cpp.o

# make and pkg-config.
mkdir "$work/make"
cp "$here/Makefile" "$here/consumer.cpp" "$work/make"
libdir=$(dirname "$(find "$prefix" -name 'libzklock.*' | head -n 1)")
export PKG_CONFIG_PATH=$libdir/pkgconfig
# A program that passes a logger to zklock needs the flags of spdlog.
for flag in $(pkg-config --cflags spdlog); do
  [[ " $(pkg-config --cflags zklock) " == *" $flag "* ]]
done
CXXFLAGS=$flags LDFLAGS=$flags make -C "$work/make"
if [[ -e $PKG_CONFIG_PATH/zklock-static.pc ]]; then
  mv "$work/make/consumer" "$work/shared_consumer"
  PACKAGE=zklock-static CXXFLAGS=$flags LDFLAGS=$flags make -C "$work/make"
  "$root/examples/with_server.sh" "$work/make/consumer" {}
  mv "$work/shared_consumer" "$work/make/consumer"
fi

# The first program finds a shared zklock by its run path, the second by the environment.
"$root/examples/with_server.sh" "$work/cmake/consumer" {}
LD_LIBRARY_PATH=$libdir "$root/examples/with_server.sh" "$work/make/consumer" {}
