#!/usr/bin/env bash
# ensurePackages.sh: makes node_modules what package-lock.json says, with npm ci, and leaves it alone when it is. Installs Debian's Node where there is none.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

installPackages() {
  cd "$repositoryRoot"
  # Packages must not depend on a C++ headers folder that the machine's npm configuration happens to name.
  npm ci --no-audit --no-fund --no-update-notifier
}

ensurePackages() {
  if node "$repositoryRoot/tools/packagesInstalled.mjs"; then return 0; fi
  step "Installing npm packages" npm-ci installPackages
  node "$repositoryRoot/tools/packagesInstalled.mjs" || die "node_modules is not what package-lock.json says after npm ci; remove node_modules and try again."
}

if ! command -v node >/dev/null 2>&1 || ! command -v npm >/dev/null 2>&1; then
  "$repositoryRoot/tools/ensureDebian.sh" nodejs npm
fi
withLock "packages-$(printf '%s' "$repositoryRoot" | sha256sum | cut -c1-12)" ensurePackages
