#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The Debian packages that zklock needs, and a function that installs the missing ones. Scripts
# source this file. If run as a program, it installs one group of packages.
#
#   tests/support/install_packages.sh GROUP
#
# | group      | packages                                                         |
# |------------|------------------------------------------------------------------|
# | library    | to build the library, and programs with it                       |
# | demo       | to build the library, and to start a server                      |
# | command    | both, and the packages of the command zklock and its examples    |
# | dev        | to build with the preset dev, and to run its tests               |
# | tests      | all of these, and the packages of tests/run.sh                   |
# | packages   | those that tests/packages/build.sh needs                         |
# | monitoring | Prometheus and promtool, which test the alert rules; PostgreSQL, |
# |            | which tests the guide to fencing                                 |

zklock_build_packages=(
  g++ cmake ninja-build libzookeeper-mt-dev libboost-thread-dev libspdlog-dev
)
zklock_library_packages=("${zklock_build_packages[@]}" pkg-config)
zklock_demo_packages=(
  "${zklock_build_packages[@]}"
  libzookeeper-java libslf4j-java openjdk-17-jre-headless
)
zklock_command_packages=(
  "${zklock_demo_packages[@]}"
  libcli11-dev nlohmann-json3-dev curl pkg-config
)
# These packages suffice for the preset dev: no browser, prover or peer.
zklock_dev_packages=(
  "${zklock_command_packages[@]}"
  ccache clang clang-format git libclang-rt-dev libgmock-dev libgtest-dev lld llvm python3
)
zklock_tests_packages=(
  "${zklock_dev_packages[@]}"
  clang-tidy make python3-clang-14 spin z3
  libcurator-recipes-java openjdk-17-jdk-headless python3-kazoo iproute2 openssl stunnel4
  chromium chromium-driver prometheus-cpp-dev
  scdoc lintian man-db zsh gdb
  doxygen doxygen-awesome-css python3-yaml
)
# To make Debian packages.
zklock_packages_packages=(
  "${zklock_build_packages[@]}" libcli11-dev nlohmann-json3-dev scdoc lintian dpkg-dev
)
# Where systemd runs, these packages start servers. There tests/run.sh does not install them.
zklock_monitoring_packages=(prometheus postgresql)

# zklock_step TEXT COMMAND...: runs the command, and prints one line: the text, and how long it took.
# If the command fails, prints its output too, and returns its exit status.
zklock_step() {
  local log status=0 begun=$SECONDS
  log=$(mktemp "${TMPDIR:-/tmp}/zklock-step.XXXXXX")
  printf '%s ...' "$1"
  "${@:2}" </dev/null >"$log" 2>&1 || status=$?
  if ((status == 0)); then
    printf ' %d s\n' $((SECONDS - begun))
  else
    printf ' failed, with the exit status %d:\n' "$status"
    cat "$log" >&2
  fi
  rm -f -- "$log"
  return "$status"
}

# zklock_install PACKAGE...: installs the missing packages, as one step. If none is missing, it
# prints nothing, does not call apt-get, and needs no rights. Without dpkg it only prints the list of
# packages, and the build shows which are missing.
zklock_install() {
  if ! command -v dpkg-query >/dev/null; then
    echo "This is not Debian: please see to it that the equivalents of these are installed: $*" >&2
    return 0
  fi
  local package missing=()
  for package in "$@"; do
    # shellcheck disable=SC2016  # ${Status} is dpkg-query's
    if [[ $(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true) != *" installed" ]]; then
      missing+=("$package")
    fi
  done
  if ((${#missing[@]} == 0)); then return 0; fi

  local as_root=()
  if ((EUID != 0)); then
    if ! command -v sudo >/dev/null; then
      echo "Missing packages, and neither root nor sudo to install them. Please run as root:" >&2
      echo "  apt-get install ${missing[*]}" >&2
      return 1
    fi
    as_root=(sudo)
    sudo true  # a question for the password precedes the step
  fi
  zklock_step "Installing ${missing[*]}, and the packages that they need" \
    zklock_apt_install "${as_root[@]}"
}

# Installs the packages in `missing` of zklock_install, by the command $@ if there is one.
zklock_apt_install() {
  local apt=("$@" env DEBIAN_FRONTEND=noninteractive apt-get -qq)
  "${apt[@]}" update && "${apt[@]}" install -y --no-install-recommends "${missing[@]}"
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
  set -euo pipefail
  case "${1-}" in
    library) zklock_install "${zklock_library_packages[@]}" ;;
    demo) zklock_install "${zklock_demo_packages[@]}" ;;
    command) zklock_install "${zklock_command_packages[@]}" ;;
    dev) zklock_install "${zklock_dev_packages[@]}" ;;
    tests) zklock_install "${zklock_tests_packages[@]}" ;;
    packages) zklock_install "${zklock_packages_packages[@]}" ;;
    monitoring) zklock_install "${zklock_monitoring_packages[@]}" ;;
    *)
      echo "usage: $0 library|demo|command|dev|tests|packages|monitoring" >&2
      exit 2
      ;;
  esac
fi
