#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the Debian packages twice, in two folders, and compares them byte for byte. Then installs
# them in a clean Debian 12, and uses them there: see use.sh. Needs root. Takes minutes.
#
# debootstrap makes the clean system below build/clean_root, with the tools of a developer. Later runs
# use a copy of it. Skips (77) without debootstrap, root or a network.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
mirror=http://deb.debian.org/debian
tools=g++,cmake,make,ninja-build,pkg-config,libgtest-dev,libgmock-dev,man-db,systemd

if ((EUID != 0)) || ! command -v debootstrap >/dev/null ||
  ! curl -sfo /dev/null --max-time 30 "$mirror/dists/bookworm/Release"; then
  echo "this test needs root, debootstrap and $mirror"
  exit 77
fi

mkdir -p build
work=$(mktemp -d "$PWD/build/packages_test.XXXXXX")
trap 'rm -rf --one-file-system -- "$work"' EXIT

SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
tests/packages/build.sh build/packages
tests/exports/check.sh build/packages/zklock/libzklock.so
mkdir "$work/copy"
git ls-files -z --cached --others --exclude-standard | tar -c --null --files-from - | tar -x -C "$work/copy"
CCACHE_DISABLE=1 "$work/copy/tests/packages/build.sh"
for package in build/packages/*.deb; do
  cmp "$package" "$work/copy/$package"
done
echo "The packages of two builds are equal."

root=build/clean_root
if [[ ! -e $root/complete ]]; then
  rm -rf --one-file-system "$root"
  debootstrap --variant=minbase --include="$tools" bookworm "$root" "$mirror"
  touch "$root/complete"
fi
mkdir "$work/root"
cp -a "$root/." "$work/root"
mkdir "$work/root/packages"
cp build/packages/*.deb "$work/root/packages"
cp -a tests/consumer tests/packages/use.sh "$work/root/packages"
# The server runs outside. The clean system shares the network.
ZKLOCK_TIMEOUT=1800 examples/with_server.sh \
  unshare --mount --pid --fork --mount-proc="$work/root/proc" \
  chroot "$work/root" /packages/use.sh {}
