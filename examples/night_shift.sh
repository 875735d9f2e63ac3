#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Plays one incident of a night shift, from the installation to the alert. Installs zklock, and starts
# a ZooKeeper server. Runs a job under a lock, finds it in ls, top and the page, and forces its lock
# away. The job must be dead before the next one runs, and its log must name the loss. Then a service
# loses its leadership in the same way. Its metric must count that, and Prometheus must raise the alert.
#
#   examples/night_shift.sh              installs missing packages, and builds in build/night_shift
#   examples/night_shift.sh BUILD_DIR    installs that build
#   examples/night_shift.sh PREFIX       uses that installation
#
# Prints a line for each step: a command, and what it shows. Ends with the exit status 1 at the first
# step that fails. Afterwards ends all that it started, and deletes its files. With an argument it
# does not need root. Without Prometheus it omits the alert.
#
# ZKLOCK_HOSTS can name other servers, for example those of docker/compose.yaml. Do not use servers
# with locks of others: the script takes the lock at /services/billing/leader away.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if (($# > 1)); then
  echo "usage: $0 [BUILD_DIR | PREFIX]" >&2
  exit 2
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/zklock-night.XXXXXX")

# Waits at most 10 s for the end of child process $1. Fails if it still runs.
ended() {
  local tenths=100
  while kill -0 "$1" 2>/dev/null; do
    if ((tenths-- == 0)); then return 1; fi
    sleep 0.1
  done
}

# shellcheck disable=SC2317  # called by the trap
clean_up() {
  trap '' INT TERM HUP
  local child
  for child in $(jobs -rp | tac); do  # the server last
    kill -TERM "$child" 2>/dev/null || continue
    ended "$child" || kill -KILL "$child" 2>/dev/null || true
    wait "$child" 2>/dev/null || true
  done
  rm -rf -- "$work"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

fail() {
  printf '%s: %s\n' "$0" "$*" >&2
  tail -n 5 "$work"/*.log 2>/dev/null >&2 || true
  exit 1
}

# Prints a step: the command $2..., and $1.
show() {
  local word line=
  for word in "${@:2}"; do
    if [[ $word == *[^A-Za-z0-9_./:=@%+-]* ]]; then word="'$word'"; fi
    line+="$word "
  done
  printf '%3d s  $ %s%s\n' "$SECONDS" "$line" "$(tr -s ' ' <<<"$1")"
}

# Runs the command $2... once. Fails if no line of its output matches the expression $1.
try() {
  output=$(timeout 20 "${@:2}" 2>&1 </dev/null) || true
  seen=$(grep -m 1 -oE -e "$1" <<<"$output") || return 1
  seen=${seen%%$'\n'*}
}

# Runs the command $2... once. A line of its output must match the expression $1.
once() {
  try "$@" || fail "no line of '${*:2}' matches '$1'. It printed: $output"
  show "-> $seen" "${@:2}"
}

# Repeats the command $2... until a line of its output matches the expression $1, for at most 30 s.
see() {
  local end=$((SECONDS + 30))
  until try "$@"; do
    ((SECONDS < end)) || fail "after 30 s, no line of '${*:2}' matches '$1'. It printed: $output"
    sleep 0.1
  done
  show "-> $seen" "${@:2}"
}

# Starts the command $2... in the background, with its output in $1.log. It ends with this script, even
# if the script is killed with SIGKILL.
start() {
  setpriv --pdeathsig TERM "${@:2}" </dev/null >"$1.log" 2>&1 &
  show "&" "${@:2}"
}

# Waits for the end of child process $1, and sets `status` to its exit status.
finish() {
  ended "$1" || fail "$2 still runs after 10 s"
  status=0
  wait "$1" || status=$?
}

# An installation.
if (($# == 0)); then
  # shellcheck source=tests/support/install_packages.sh
  source "$here/../tests/support/install_packages.sh"
  zklock_install "${zklock_command_packages[@]}"
  # Where systemd runs, the package of Prometheus starts a server.
  [[ -d /run/systemd/system ]] || zklock_install prometheus
  build=$(cd "$here/.." && pwd)/build/night_shift
  build_it() (cd "$here/.." && cmake --preset night_shift && cmake --build --preset night_shift)
  zklock_step "Building in build/night_shift" build_it
else
  build=$(cd "$1" 2>/dev/null && pwd) || fail "no directory $1"
fi
prefix=$build
cd "$work"
if [[ -e $build/CMakeCache.txt ]]; then
  prefix=$work/prefix
  cmake --install "$build" --prefix "$prefix" >install.log 2>&1 || fail "the installation failed"
  show "" cmake --install "$build" --prefix "$prefix"
fi
[[ -x $prefix/bin/zklock ]] || fail "$prefix is neither a build nor an installation with bin/zklock"
for tool in curl pkg-config; do
  command -v "$tool" >/dev/null || fail "$tool is missing"
done
export PATH=$prefix/bin:$PATH no_proxy=127.0.0.1
once '^zklock [0-9.]+' zklock --version

# A server.
cat >keep <<'END'
#!/bin/sh
echo "$ZKLOCK_HOSTS" >hosts
exec sleep 600
END
chmod +x keep
start server "$here/with_server.sh" ./keep
server=$!
until [[ -s hosts ]]; do  # with_server.sh limits this time
  kill -0 "$server" 2>/dev/null || fail "no server"
  sleep 0.1
done
see '.+' cat hosts
export ZKLOCK_HOSTS=$output

# A job under a lock, and a second one, which fails if it runs beside the first.
cat >job <<'END'
#!/bin/sh
echo $$ >job.pid
exec sleep 600
END
cat >next_job <<'END'
#!/bin/sh
! kill -0 "$(cat job.pid)" 2>/dev/null
END
chmod +x job next_job
start run zklock run --note nightly /jobs/report ./job
run=$!
see '^[0-9]+$' cat job.pid
job=$seen
start next zklock run --note second /jobs/report ./next_job
next=$!

see 'waits .*second' zklock ls /jobs/report
once "holds .* pid $run .*nightly" zklock ls /jobs/report
once '/jobs/report .* 1 +nightly' zklock top /
start serve zklock serve --listen 127.0.0.1:0 /
see 'http://[0-9.:]+/' cat serve.log
page=$seen
see '"note":"nightly"' curl -sS "${page}api/locks"
once '<title>.*</title>' curl -sS "$page"

# The lock is forced away.
once 'released after .*' zklock release --force --yes /jobs/report
finish "$run" "zklock run"
((status == 79)) || fail "zklock run exited with $status, not with 79"
! kill -0 "$job" 2>/dev/null || fail "the job still runs"
once 'lost: .*forced the release.*' cat run.log
once 'the lock was lost \(forced release\).*' cat run.log
finish "$next" "the second job"
((status == 0)) || fail "the second job ran beside the first, or not at all: exit status $status"
echo "       the job was dead before the second one ran"

# A service with metrics, built with the installation.
found=$(find "$prefix"/lib* -name zklock.pc 2>/dev/null) || fail "no zklock.pc in $prefix"
libraries=${found%/pkgconfig/zklock.pc}
export PKG_CONFIG_PATH=$libraries/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
read -ra flags <<<"$(pkg-config --cflags --libs zklock)"
"${CXX:-c++}" -std=c++20 "$here"/service/{main,service,probe_server}.cpp "${flags[@]}" \
  -Wl,-rpath,"$libraries" -o billing_service || fail "the service cannot be built"
echo "       the service is built with pkg-config zklock"
start service ./billing_service "$ZKLOCK_HOSTS"
see 'probes: 127\.0\.0\.1:[0-9]+' cat service.log
service=${seen#* }
see '^ok' curl -sS "http://$service/readyz"
once 'zklock_losses_total\{lock="billing",reason="forced"\} 0' curl -sS "http://$service/metrics"

# Prometheus must have seen the 0 twice, because a rate needs two samples.
prometheus=
if command -v prometheus >/dev/null && command -v promtool >/dev/null; then
  cat >prometheus.yml <<END
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: ['$prefix/share/zklock/monitoring/alerts.yml']
scrape_configs:
  - job_name: billing
    static_configs: [{targets: ['$service']}]
END
  start prometheus prometheus --config.file=prometheus.yml --storage.tsdb.path=data \
    --web.listen-address=127.0.0.1:0
  see 'Listening on" address=127\.0\.0\.1:[0-9]+' cat prometheus.log
  prometheus=http://${seen#*address=}
  see '=> ([2-9]|[1-9][0-9])' promtool query instant "$prometheus" \
    'count_over_time(zklock_losses_total{lock="billing",reason="forced"}[1m])'
  once '=> 1 ' promtool query instant "$prometheus" 'absent(ALERTS{alertname="ZklockHoldLost"})'
fi

once 'released after .*' zklock release --force --yes /services/billing/leader
see 'lost: .*forced the release.*' cat service.log
see 'zklock_losses_total\{lock="billing",reason="forced"\} 1' curl -sS "http://$service/metrics"
if [[ -n $prometheus ]]; then
  see 'alertstate="firing".*lock="billing", reason="forced".*=> 1' \
    promtool query instant "$prometheus" 'ALERTS{alertname="ZklockHoldLost"}'
else
  echo "       omitted: the alert, because prometheus and promtool are not installed"
fi
echo "$SECONDS s  all steps passed"
