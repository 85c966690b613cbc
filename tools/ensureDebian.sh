#!/usr/bin/env bash
# ensureDebian.sh package…: installs the Debian packages that are missing, as programs: the services that come with them are neither started nor
# enabled. Needs root on Debian or Ubuntu; elsewhere it says in one sentence what to install.
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

# What the system asks before a package starts its service (Debian's policy-rc.d).
servicePolicy=/usr/sbin/policy-rc.d
ownPolicy='# Written by joypod for one installation.'

# installPrograms package…
installPrograms() {
  local before
  before=$(installedPackages)
  # A run that was killed may have left it.
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
    # One that stays enabled is no reason to go without its program.
    if [ "${#units[@]}" -gt 0 ]; then systemctl disable "${units[@]}" || true; fi
  done
}

if ! isDebian; then
  die "these programs are needed here and are installed by themselves only on Debian or Ubuntu; install what the packages $* hold."
fi
missing=()
for package in "$@"; do isInstalled "$package" || missing+=("$package"); done
[ "${#missing[@]}" -gt 0 ] || exit 0
[ "$(id -u)" -eq 0 ] || die "install the missing packages as root: apt-get install ${missing[*]}"
withLock debian step "Installing Debian packages: ${missing[*]}" debian installPrograms "${missing[@]}"
