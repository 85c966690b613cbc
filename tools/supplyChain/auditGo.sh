#!/usr/bin/env bash
# auditGo.sh [program…]: runs govulncheck on the Go programs that the images contain (default: all of them),
# and fails if one calls a vulnerable function. JOYPOD_VULN_DB is the URL of the vulnerability database, for
# example file:///srv/vulndb for a copy (default https://vuln.go.dev). Exits with 75 if a remote database does
# not answer.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../programs/programs.sh"

database=${JOYPOD_VULN_DB:-https://vuln.go.dev}

# answers URL: succeeds if the URL can be fetched.
answers() {
  node -e 'fetch(process.argv[1], { signal: AbortSignal.timeout(20_000) }).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))' "$1"
}

programs=("$@")
[ $# -gt 0 ] || mapfile -t programs < <(grep -v '^#' "$repositoryRoot/tools/images/table.txt" | grep -oE '\bprograms/[A-Za-z]+' | cut -d/ -f2 | sort -u)
needCommand go "the Go toolchain is missing. Install Go 1.24 or later (https://go.dev/dl)."
needCommand node "Node.js is missing. Install version 20 or later with npm."
case $database in
  file://*) ;;
  *)
    if ! answers "$database/index/db.json"; then
      say "govulncheck skipped: $database does not answer. Set JOYPOD_VULN_DB to the URL of a copy."
      exit 75
    fi
    ;;
esac
govulncheck=$("$repositoryRoot/tools/programs/path.sh" govulncheck)
vulnerable=no
for program in "${programs[@]}"; do
  package=$(programCell "$program" 3)
  say "govulncheck of $program:"
  (cd "$(moduleSource "$(programCell "$program" 2)")" && GOTOOLCHAIN=auto GOFLAGS=-mod=readonly "$govulncheck" -db "$database" "$package") || vulnerable=yes
done
if [ "$vulnerable" = yes ]; then die "Go programs have known vulnerabilities (see above). Raise the versions in their go.mod."; fi
