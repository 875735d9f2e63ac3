#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds zklock with other compilers, as C++20 and C++23, and runs the tests that need no server. A
# warning is an error.
#
#   tests/compilers.sh [--syntax | --alone] [COMPILER:STANDARD...]
#
# Without arguments: clang++-16:20 clang++-19:20 clang++-19:23 g++:23. The package clang-19 has the
# program clang++-19. Builds in build/COMPILER-STANDARD. With --syntax, only checks each source for
# errors and warnings, in a fifth of the time, and omits generated sources. --alone does so for each
# source alone: this finds a missing #include, which the other builds hide.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

syntax= unity=ON
case "${1-}" in
  --syntax) syntax=yes ;;
  --alone) syntax=yes unity=OFF ;;
esac
if [[ -n $syntax ]]; then shift; fi
if (($# == 0)); then set -- clang++-16:20 clang++-19:20 clang++-19:23 g++:23; fi

# Checks the sources of the build in folder $1.
check_sources() {
  python3 - "$1" <<'END'
import concurrent.futures, json, os, shlex, subprocess, sys
units = {unit["file"]: unit for unit in json.load(open(sys.argv[1] + "/compile_commands.json"))
         if os.path.exists(unit["file"])}.values()
def check(unit):
    words = shlex.split(unit["command"])
    return subprocess.run(words[:words.index("-o")] + ["-fsyntax-only", unit["file"]], cwd=unit["directory"]).returncode
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    codes = list(pool.map(check, units))
print(len(codes), "units,", sum(code != 0 for code in codes), "with errors or warnings")
sys.exit(any(codes))
END
}

failed=()
for each in "$@"; do
  compiler=${each%:*} standard=${each##*:}
  build=build/${compiler##*/}-$standard
  echo "=== $compiler, C++$standard"
  if ! {
    cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_COMPILER="$compiler" \
      -DCMAKE_CXX_STANDARD="$standard" -DCMAKE_CXX_FLAGS_DEBUG=-O0 -DZKLOCK_TEST_OPTIONS=-O0 \
      -DZKLOCK_WERROR=ON \
      -DCMAKE_UNITY_BUILD="$unity" -DCMAKE_UNITY_BUILD_BATCH_SIZE=12 &&
      if [[ -n $syntax ]]; then
        check_sources "$build"
      else
        cmake --build "$build" -- -k 0 && ctest --test-dir "$build" --output-on-failure \
          --no-tests=error --label-regex '^(unit|model)$' --exclude-regex soak_test
      fi
  }; then
    failed+=("$each")
  fi
done
if ((${#failed[@]} > 0)); then
  echo "failed: ${failed[*]}"
  exit 1
fi
