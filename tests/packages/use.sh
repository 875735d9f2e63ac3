#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the packages in /packages, and uses them: the command with its pages and units, and
# programs in each way that the project tests/consumer knows. Then removes them. Runs in a clean
# system, called by run.sh with the address of a server.
set -euo pipefail
hosts=$1
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/root DEBIAN_FRONTEND=noninteractive
cd /packages

install() { apt-get install -y -qq --no-install-recommends -o Dpkg::Use-Pty=0 "$@" >/dev/null; }
apt-get update -qq
SECONDS=0
install ./zklock_*.deb ./libzklock0_*.deb
zklock -z "$hosts" run /first echo "The first lock is held, $SECONDS s after the begin of the installation."
zklock --help >/dev/null
for page in zklock zklock-run; do man "$page" | grep -F -- "--help" >/dev/null; done
for unit in run elect hold; do
  cp "/usr/lib/systemd/system/zklock-$unit@.service" "/tmp/zklock-$unit@job.service"
  systemd-analyze verify "/tmp/zklock-$unit@job.service"
done

install ./libzklock-*.deb
by_cmake() {
  local build=/tmp/$1
  shift
  cmake -S consumer -B "$build" "$@" >/dev/null
  cmake --build "$build" >/dev/null
  "$build/kit_consumer" >/dev/null
  "$build/consumer" "$hosts"
}
by_cmake ninja -G Ninja
by_cmake make -G "Unix Makefiles"
by_cmake static -G Ninja -DMORE_COMPONENTS=static -DLIBRARY=zklock::static
by_cmake cxx23 -G Ninja -DCMAKE_CXX_STANDARD=23
by_cmake no_rtti -G Ninja -DCMAKE_CXX_FLAGS=-fno-rtti
for variables in PACKAGE=zklock "PACKAGE=zklock STANDARD=c++23" PACKAGE=zklock-static \
  "PACKAGE=zklock-static STANDARD=c++23" "PACKAGE=zklock CXXFLAGS=-fno-rtti"; do
  # shellcheck disable=SC2086  # several words
  env $variables make -B -C consumer >/dev/null
  consumer/consumer "$hosts"
done
if ldd /tmp/static/consumer | grep -F libzklock; then exit 1; fi
ldd /tmp/ninja/consumer | grep -F libzklock.so.0 >/dev/null

apt-get purge -y -qq zklock libzklock0 libzklock-dev libzklock-testing-dev >/dev/null
rm -rf /tmp/*
if find / -xdev -name '*zklock*' ! -path '/packages/*' ! -path '/var/lib/*' ! -path '/var/cache/*' | grep .; then
  echo "the removed packages left these files" >&2
  exit 1
fi
echo "The packages were installed, used and removed."
