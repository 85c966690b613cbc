#!/usr/bin/env bash
# audit.sh: asks the npm registry for known vulnerabilities of the packages that the programs run with, and fails on serious ones. Where
# the registry does not answer such questions (a mirror, no network) it says so and passes: a build does not depend on it.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"

# What the images install is written in these lock files.
folders=(. session/image)
leastSeverity=high

# One report of npm in JSON: vulnerable packages by severity, or the reason why nothing is known.
report() {
  (cd "$repositoryRoot/$1" && timeout 90 npm audit --package-lock-only --omit=dev --json --fetch-retries=1 --fetch-timeout=20000 2>/dev/null) || true
}

needCommand node "Node.js is missing; install version 20 or later with npm."
needCommand npm "npm is missing; install it with Node.js."
failed=no
for folder in "${folders[@]}"; do
  report "$folder" | node "$repositoryRoot/tools/supplyChain/checkAudit.mjs" "$folder" "$leastSeverity" || failed=yes
done
if [ "$failed" = yes ]; then die "packages with known vulnerabilities are used; see above, and raise them in package.json."; fi
