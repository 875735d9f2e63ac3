#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The Debian packages that zklock needs, and a function that installs the missing ones. Scripts
# source this file. If run as a program, it installs the groups of packages on its command line.
#
#   tests/support/install_packages.sh demo     packages of the library, the examples and the demo
#   tests/support/install_packages.sh tests    those, and the packages of tests/run.sh
#
#   tests/support/install_packages.sh monitoring    Prometheus and promtool, which test the alert rules

zklock_demo_packages=(
  g++ cmake ninja-build
  libzookeeper-mt-dev libboost-thread-dev libspdlog-dev libcli11-dev nlohmann-json3-dev
  libzookeeper-java libslf4j-java openjdk-17-jre-headless
  curl pkg-config
)
zklock_tests_packages=(
  "${zklock_demo_packages[@]}"
  clang clang-format clang-tidy libgtest-dev make spin z3
  libcurator-recipes-java openjdk-17-jdk-headless python3 python3-kazoo iproute2
  chromium chromium-driver prometheus-cpp-dev
)
# Where systemd runs, this package starts a server. There tests/run.sh does not install it.
zklock_monitoring_packages=(prometheus)

# zklock_install PACKAGE...: installs the missing packages. If none is missing, it does not call
# apt-get and needs no rights. Without dpkg it only prints the list of packages, and the build shows
# which are missing.
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
  fi
  echo "Installing: ${missing[*]}" >&2
  as_root+=(env DEBIAN_FRONTEND=noninteractive)
  "${as_root[@]}" apt-get update -qq >&2
  "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
  set -euo pipefail
  case "${1-}" in
    demo) zklock_install "${zklock_demo_packages[@]}" ;;
    tests) zklock_install "${zklock_tests_packages[@]}" ;;
    monitoring) zklock_install "${zklock_monitoring_packages[@]}" ;;
    *)
      echo "usage: $0 demo|tests|monitoring" >&2
      exit 2
      ;;
  esac
fi
