#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Types commands into a clean system. type_commands.py runs this script in namespaces of its own, so
# all mounts and processes end with it.
#
#   clean_root.sh ROOT WORK
#
# ROOT has the clean system, and a folder for packages. WORK has the checkout, and typed.sh with the
# commands: calls of save and type_block below. Changes of files stay in memory, and are lost.
set -euo pipefail

if [[ ${1-} != --inside ]]; then
  clean=$1 work=$2
  mount --make-rprivate /
  mount -t tmpfs -o size=90% tmpfs /mnt
  mkdir /mnt/{upper,overlay,root}
  mount -t overlay -o "lowerdir=$clean/system,upperdir=/mnt/upper,workdir=/mnt/overlay" overlay /mnt/root
  cd /mnt/root
  mkdir -p root/zklock typed
  mount --bind "$clean/packages" var/cache/apt/archives
  mount -t proc proc proc
  mount -t tmpfs tmpfs dev/shm 2>/dev/null || { mkdir -p dev/shm && mount -t tmpfs tmpfs dev/shm; }
  for device in null zero full random urandom; do
    touch "dev/$device"
    mount --bind "/dev/$device" "dev/$device"
  done
  ln -sfn /proc/self/fd dev/fd
  cp /etc/resolv.conf etc/resolv.conf
  cp -a "$work/zklock" root
  cp "$work/typed.sh" "$0" typed/
  exec env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
    chroot . /typed/clean_root.sh --inside
fi

set -m  # each background job has a process group of its own
cd ~/zklock
block=0

# save FILE TEXT: writes a file, as a reader does.
save() {
  mkdir -p "$(dirname "$1")"
  printf '%s' "$2" >"$1"
}

# type_block PLACE COMMANDS [UNTIL]: types the commands of the page into this shell. With UNTIL, ends
# them with SIGTERM as soon as that command succeeds, at most 30 s later.
type_block() {
  local begun=$SECONDS packages log
  packages=$(dpkg-query -W | wc -l)
  log=/typed/$((++block)).log
  place=$1
  printf '%s\n' "$2" >/typed/block.sh
  if (($# == 2)); then
    # shellcheck disable=SC1091
    source /typed/block.sh >"$log" 2>&1 </dev/null
  else
    bash -e /typed/block.sh >"$log" 2>&1 </dev/null &
    local child=$! tenths=300
    until eval "$3" >/dev/null 2>&1; do
      if ! kill -0 "$child" 2>/dev/null || ((tenths-- == 0)); then return 1; fi
      sleep 0.1
    done
    kill -TERM -- "-$child"
    { wait "$child" || true; } 2>/dev/null  # without the line about the signal
  fi
  printf '%-40s %4d s %4d lines %4d packages\n' "$1" $((SECONDS - begun)) "$(wc -l <"$log")" \
    $(($(dpkg-query -W | wc -l) - packages))
}

# For the setup of a block: starts a server for the hosts that the guides name.
start_server() {
  echo "127.0.0.1 localhost zk1 zk2 zk3" >/etc/hosts
  java -cp /usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar \
    -Dzookeeper.admin.enableServer=false \
    org.apache.zookeeper.server.ZooKeeperServerMain 2181 "$(mktemp -d)" >/typed/server.log 2>&1 &
  export ZKLOCK_HOSTS=zk1:2181
  for ((i = 0; i < 300; i++)); do
    if (exec 3<>/dev/tcp/127.0.0.1/2181) 2>/dev/null; then return; fi
    sleep 0.1
  done
  return 1
}

# For the setup of a block: stub NAME [SECONDS] makes a program that the page takes for granted.
stub() {
  printf '#!/bin/sh\nsleep %d\n' "${2-0}" >"/usr/local/bin/$1"
  chmod +x "/usr/local/bin/$1"
}

end() {
  local status=$?
  if ((status != 0)); then
    echo "failed, with the exit status $status: ${place-}"
    sed 's/^/  /' /typed/block.sh
    tail -n 40 "/typed/$block.log"
  fi
}
trap end EXIT
# shellcheck disable=SC1091
source /typed/typed.sh
