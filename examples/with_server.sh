#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a command with a throwaway ZooKeeper server on a free loopback port. The server's address is
# in the environment variable ZKLOCK_HOSTS, and stands for an argument {} of the command:
#   examples/with_server.sh build/release/examples/hello_lock {}
# When ZKLOCK_HOSTS is set already, the command runs against those servers and none is started.
# Exits as the command does. The server, its data and (after ZKLOCK_TIMEOUT seconds, 300 by default)
# the command are gone afterwards, also when this script is killed.
set -euo pipefail

if (($# == 0)); then
  echo "usage: $0 COMMAND [ARGUMENT...]" >&2
  exit 2
fi
limit=${ZKLOCK_TIMEOUT:-300}
class_path=/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar
java=${JAVA_HOME:+$JAVA_HOME/bin/}java

dir=
server=
command=

# Waits for a child of ours to end, at most $2 seconds.
ended() {
  local tenths=$(($2 * 10))
  while kill -0 "$1" 2>/dev/null; do
    if ((tenths-- == 0)); then return 1; fi
    sleep 0.1
  done
}

# Ends a child of ours, by its pid, first politely.
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

# One request of ZooKeeper's four-letter-word protocol to the server on port $1.
ask() {
  (
    exec 3<>"/dev/tcp/127.0.0.1/$1" && printf '%s' "$2" >&3 && timeout 2 cat <&3
  ) 2>/dev/null
}

# Starts a server on port $1; fails when it does not serve within 60 s or ends, as it does when
# somebody else has the port.
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
  # Dies with this script, even if that is killed with SIGKILL.
  setpriv --pdeathsig KILL "$java" -Xms32m -Xmx128m -XX:+UseSerialGC -XX:-UsePerfData \
    -XX:TieredStopAtLevel=1 -Dzookeeper.jmx.log4j.disable=true -Dzookeeper.forceSync=no \
    -cp "$class_path" \
    org.apache.zookeeper.server.quorum.QuorumPeerMain "$dir/zoo.cfg" \
    </dev/null >"$dir/server.log" 2>&1 &
  server=$!
  local give_up=$((SECONDS + 60))
  while kill -0 "$server" 2>/dev/null && ((SECONDS < give_up)); do
    # "conf" names the data directory: an answer from somebody else's server does not count.
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
  for file in ${class_path//:/ }; do
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
    # Below the range from which the system gives ports to outgoing connections, and below that of
    # the tests, which count on nothing listening on some. A port that is taken makes the server end
    # at once, and another is tried.
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

# In the background, so that a signal to this script is acted on at once; with its own input.
timeout --kill-after=5 "$limit" "${arguments[@]}" <&0 &
command=$!
status=0
wait "$command" || status=$?
command=
if ((status == 124)); then echo "$0: ended after $limit seconds: $*" >&2; fi
exit "$status"
