#!/usr/bin/env bash
# auditNpm.sh: asks the npm registry for known vulnerabilities in the packages that the images install. Fails
# on high and critical ones. Exits with 75 if the registry does not answer, for example behind a mirror.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"

# The lock files that the images install from.
folders=(. session/image)
leastSeverity=high

# Prints npm's JSON report: vulnerable packages by severity, or an error.
report() {
  (cd "$repositoryRoot/$1" && timeout 90 npm audit --package-lock-only --omit=dev --json --fetch-retries=1 --fetch-timeout=20000 2>/dev/null) || true
}

needCommand node "Node.js is missing. Install version 20 or later with npm."
needCommand npm "npm is missing. Install it with Node.js."
vulnerable=no skipped=no
for folder in "${folders[@]}"; do
  code=0
  report "$folder" | node "$repositoryRoot/tools/supplyChain/checkAudit.mjs" "$folder" "$leastSeverity" || code=$?
  case $code in
    0) ;;
    75) skipped=yes ;;
    *) vulnerable=yes ;;
  esac
done
if [ "$vulnerable" = yes ]; then die "npm packages have known vulnerabilities (see above). Raise their versions."; fi
if [ "$skipped" = yes ]; then
  say "npm audit skipped: the registry gave no report."
  exit 75
fi
