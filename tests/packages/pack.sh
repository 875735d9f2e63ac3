#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Packs a build as Debian packages in its folder. The build has a shared library and the prefix /usr. Then
# checks them: with lintian, and by their contents. The units of systemd are verified. SEVERITY, error by
# default, is the argument of lintian's --fail-on.
#
#   tests/packages/pack.sh BUILD [SEVERITY]
#
# Skips (77) if a tool is missing.
set -euo pipefail

if (($# < 1 || $# > 2)); then
  echo "usage: $0 BUILD [SEVERITY]" >&2
  exit 2
fi
build=$(cd "$1" && pwd)
for tool in cpack lintian dpkg-shlibdeps scdoc; do
  if ! command -v "$tool" >/dev/null; then
    echo "$tool is not installed"
    exit 77
  fi
done
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(date +%s)}

rm -rf "$build"/*.deb "$build/_CPack_Packages" "$build/unpacked"
(cd "$build" && cpack --config CPackConfig.cmake)
packages=("$build"/*.deb)
if ((${#packages[@]} != 4)); then
  echo "there are ${#packages[@]} packages instead of 4" >&2
  exit 1
fi
# CPack writes the scripts that call ldconfig. The other tag is for uploads to Debian.
lintian --suppress-tags maintscript-calls-ldconfig,initial-upload-closes-no-bugs \
  --fail-on "${2-error}" "${packages[@]}"

# Each of these files is in the package that the line names first, and in no other.
while read -r package file; do
  for each in "${packages[@]}"; do
    name=$(dpkg-deb --field "$each" Package)
    count=$(dpkg-deb --contents "$each" | awk '{ print $6 }' | grep -cE "^\./usr/$file\$" || true)
    if [[ $name == "$package" && $count == 0 || $name != "$package" && $count != 0 ]]; then
      echo "$name has $count files $file" >&2
      exit 1
    fi
  done
done <<'FILES'
libzklock0 lib/[^/]*/libzklock\.so\.[0-9.]+
libzklock-dev lib/[^/]*/libzklock\.(a|so)
libzklock-dev lib/[^/]*/pkgconfig/zklock(-static)?\.pc
libzklock-dev lib/[^/]*/cmake/zklock/zklock(|Static)Targets\.cmake
libzklock-dev include/zklock/zklock\.h
libzklock-dev share/zklock/tsan\.supp
libzklock-dev share/zklock/zklock_gdb\.py
libzklock-testing-dev lib/[^/]*/libzklock_testing\.a
libzklock-testing-dev include/zklock/testing/fake_ensemble\.h
zklock bin/zklock
zklock share/man/man1/zklock(-run)?\.1\.gz
zklock share/bash-completion/completions/zklock
zklock share/zsh/vendor-completions/_zklock
zklock lib/systemd/system/zklock-(run|elect|hold)@\.service
zklock share/zklock/monitoring/(alerts\.yml|dashboard\.json)
FILES

if command -v systemd-analyze >/dev/null; then
  # systemd-analyze checks that the program of a unit exists.
  mkdir "$build/unpacked"
  dpkg-deb --extract "$build"/zklock_*.deb "$build/unpacked"
  for unit in "$build"/unpacked/usr/lib/systemd/system/*.service; do
    sed -i "s|/usr/bin/zklock|$build/unpacked/usr/bin/zklock|" "$unit"
    instance=${unit/@./@job.}
    cp "$unit" "$instance"
    if systemd-analyze verify --man=no "$instance" 2>&1 | grep -F zklock; then exit 1; fi
  done
fi
