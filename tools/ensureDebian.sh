#!/usr/bin/env bash
# ensureDebian.sh package…: installs the Debian packages that are missing. Needs root on Debian or Ubuntu;
# elsewhere it says in one sentence what to install.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

isInstalled() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

isDebian() { command -v apt-get >/dev/null 2>&1 && command -v dpkg-query >/dev/null 2>&1; }

install() {
  # A run that was killed may have left packages half configured; another apt may hold the lock for a moment.
  DEBIAN_FRONTEND=noninteractive dpkg --configure -a
  DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 install -y --no-install-recommends "$@"
}

refreshAndInstall() {
  install "$@" && return 0
  apt-get -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 update
  install "$@"
}

if ! isDebian; then
  die "these programs are needed here and are installed by themselves only on Debian or Ubuntu; install what the packages $* hold."
fi
missing=()
for package in "$@"; do isInstalled "$package" || missing+=("$package"); done
[ "${#missing[@]}" -gt 0 ] || exit 0
[ "$(id -u)" -eq 0 ] || die "install the missing packages as root: apt-get install ${missing[*]}"
withLock debian step "Installing Debian packages: ${missing[*]}" debian refreshAndInstall "${missing[@]}"
