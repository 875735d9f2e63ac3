#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a command with a temporary ZooKeeper server on a free loopback port. Sets ZKLOCK_HOSTS to the
# address of the server, and replaces an argument {} of the command by it. For example:
#   examples/with_server.sh build/demo/examples/hello_lock {}
#
# If ZKLOCK_HOSTS is already set, the command uses those servers, and no server is started. Returns
# the exit status of the command. Ends the command after ZKLOCK_TIMEOUT seconds (300 by default).
# Afterwards ends the server and deletes its data, also when this script is killed by a signal.
# ZKLOCK_ZOOKEEPER_CLASSPATH is the class path of another ZooKeeper server, for example
# /opt/apache-zookeeper-3.9.4-bin/lib/*
set -euo pipefail

if (($# == 0)); then
  echo "usage: $0 COMMAND [ARGUMENT...]" >&2
  exit 2
fi
limit=${ZKLOCK_TIMEOUT:-300}
class_path=${ZKLOCK_ZOOKEEPER_CLASSPATH:-/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar}
java=${JAVA_HOME:+$JAVA_HOME/bin/}java

dir=
server=
command=

# Waits at most $2 seconds for the end of child process $1. Fails if it still runs.
ended() {
  local tenths=$(($2 * 10))
  while kill -0 "$1" 2>/dev/null; do
    if ((tenths-- == 0)); then return 1; fi
    sleep 0.1
  done
}

# Ends child process $1: sends SIGTERM, and SIGKILL after $2 seconds.
end() {
  kill -TERM "$1" 2>/dev/null || return 0
  ended "$1" "$2" || kill -KILL "$1" 2>/dev/null || true
  wait "$1" 2>/dev/null || true
}

# shellcheck disable=SC2317  # called by the trap
clean_up() {
  trap '' INT TERM HUP
  if [[ -n $command ]]; then end "$command" 5; fi
  if [[ -n $server ]]; then end "$server" 5; fi
  if [[ -n $dir ]]; then rm -rf -- "$dir"; fi
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# Sends the request $2 of ZooKeeper's four-letter-word protocol to the server on port $1.
ask() {
  (
    exec 3<>"/dev/tcp/127.0.0.1/$1" && printf '%s' "$2" >&3 && timeout 2 cat <&3
  ) 2>/dev/null
}

# Starts a server on port $1. Fails if the server does not serve within 60 s, or ends because the
# port is in use.
start_server() {
  cat >"$dir/zoo.cfg" <<CFG
tickTime=500
minSessionTimeout=1000
maxSessionTimeout=60000
dataDir=$dir/data
clientPort=$1
clientPortAddress=127.0.0.1
admin.enableServer=false
4lw.commands.whitelist=*
maxClientCnxns=0
CFG
  # The server ends with this script, even if the script is killed with SIGKILL.
  setpriv --pdeathsig KILL "$java" -Xms32m -Xmx128m -XX:+UseSerialGC -XX:-UsePerfData \
    -XX:TieredStopAtLevel=1 -Dzookeeper.jmx.log4j.disable=true -Dzookeeper.forceSync=no \
    -cp "$class_path" \
    org.apache.zookeeper.server.quorum.QuorumPeerMain "$dir/zoo.cfg" \
    </dev/null >"$dir/server.log" 2>&1 &
  server=$!
  local withdraw=$((SECONDS + 60))
  while kill -0 "$server" 2>/dev/null && ((SECONDS < withdraw)); do
    # The answer to "conf" names the data directory, so the answer of another server is recognised.
    if [[ $(ask "$1" conf || true) == *"dataDir=$dir/data/"* &&
      $(ask "$1" srvr || true) == *"Mode: "* ]]; then
      return 0
    fi
    sleep 0.05
  done
  end "$server" 1
  server=
  return 1
}

if [[ -z ${ZKLOCK_HOSTS-} ]]; then
  for file in ${class_path//:/ }; do  # with the files of "lib/*"
    if [[ ! -r $file ]]; then
      echo "$0: $file is missing (Debian: libzookeeper-java, libslf4j-java)" >&2
      exit 127
    fi
  done
  if ! command -v "$java" >/dev/null; then
    echo "$0: no Java found (Debian: openjdk-17-jre-headless)" >&2
    exit 127
  fi
  dir=$(mktemp -d "${TMPDIR:-/tmp}/zklock-server.XXXXXX")
  mkdir "$dir/data"
  for ((attempt = 1; ; attempt++)); do
    # The port is below the system's range for outgoing connections, and below the range of the
    # tests, which need some ports without a listener. If the port is in use, the server ends at
    # once, and the loop tries another one.
    port=$((10000 + (RANDOM * 32768 + RANDOM) % 10000))
    if start_server "$port"; then break; fi
    if ((attempt == 5)); then
      echo "$0: no ZooKeeper server could be started; the last one said:" >&2
      tail -n 20 "$dir/server.log" >&2
      exit 1
    fi
  done
  export ZKLOCK_HOSTS=127.0.0.1:$port
fi

arguments=()
for argument in "$@"; do
  if [[ $argument == "{}" ]]; then argument=$ZKLOCK_HOSTS; fi
  arguments+=("$argument")
done

# Runs in the background, so that this script handles a signal at once. It keeps the script's input.
timeout --kill-after=5 "$limit" "${arguments[@]}" <&0 &
command=$!
status=0
wait "$command" || status=$?
command=
if ((status == 124)); then echo "$0: ended after $limit seconds: $*" >&2; fi
exit "$status"
