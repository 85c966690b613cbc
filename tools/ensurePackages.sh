#!/usr/bin/env bash
# ensurePackages.sh: runs npm ci if node_modules does not match package-lock.json. Installs Debian's Node.js
# if there is none.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

installPackages() {
  cd "$repositoryRoot"
  npm ci --no-audit --no-fund --no-update-notifier
}

ensurePackages() {
  if node "$repositoryRoot/tools/packagesInstalled.mjs"; then return 0; fi
  step "Installing npm packages" npm-ci installPackages
  node "$repositoryRoot/tools/packagesInstalled.mjs" || die "node_modules does not match package-lock.json after npm ci. Remove node_modules and try again."
}

if ! command -v node >/dev/null 2>&1 || ! command -v npm >/dev/null 2>&1; then
  "$repositoryRoot/tools/ensureDebian.sh" nodejs npm
fi
withLock "packages-$(printf '%s' "$repositoryRoot" | sha256sum | cut -c1-12)" ensurePackages
