#!/usr/bin/env bash
# ensureDebian.sh package…: installs missing Debian packages without starting or enabling their services.
# Needs root on Debian or Ubuntu. On other systems it fails and says what to install.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

isInstalled() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

isDebian() { command -v apt-get >/dev/null 2>&1 && command -v dpkg-query >/dev/null 2>&1; }

install() {
  # A killed run may have left packages half configured, and another apt may hold the lock for a moment.
  DEBIAN_FRONTEND=noninteractive dpkg --configure -a
  DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 install -y --no-install-recommends "$@"
}

refreshAndInstall() {
  install "$@" && return 0
  apt-get -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 update
  install "$@"
}

# Debian runs this script before a package starts its service; exit code 101 forbids it.
servicePolicy=/usr/sbin/policy-rc.d
ownPolicy='# Written by joypod for one installation.'

# installPrograms package…
installPrograms() {
  local before
  before=$(installedPackages)
  # A killed run may have left our policy script.
  if grep -qsxF "$ownPolicy" "$servicePolicy"; then rm "$servicePolicy"; fi
  if [ ! -e "$servicePolicy" ]; then
    trap 'rm -f "$servicePolicy"' EXIT
    printf '#!/bin/sh\n%s\nexit 101\n' "$ownPolicy" >"$servicePolicy"
    chmod 755 "$servicePolicy"
  fi
  refreshAndInstall "$@"
  comm -13 <(printf '%s\n' "$before") <(installedPackages) | disableServices
}

installedPackages() { dpkg-query -W -f '${db:Status-Status} ${Package}\n' | sed -n 's/^installed //p' | sort -u; }

# disableServices <packages
disableServices() {
  local package units
  command -v systemctl >/dev/null 2>&1 || return 0
  while read -r package; do
    mapfile -t units < <(dpkg-query -L "$package" | sed -nE 's#^(/usr)?/lib/systemd/system/([^/@]+\.service)$#\2#p')
    # Best effort: a service that stays enabled must not fail the installation.
    if [ "${#units[@]}" -gt 0 ]; then systemctl disable "${units[@]}" || true; fi
  done
}

if ! isDebian; then
  die "programs are missing and can be installed automatically only on Debian and Ubuntu. Install the programs of these Debian packages: $*."
fi
missing=()
for package in "$@"; do isInstalled "$package" || missing+=("$package"); done
[ "${#missing[@]}" -gt 0 ] || exit 0
[ "$(id -u)" -eq 0 ] || die "packages are missing. Install them as root: apt-get install ${missing[*]}"
withLock debian step "Installing Debian packages: ${missing[*]}" debian installPrograms "${missing[@]}"
