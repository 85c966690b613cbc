#!/usr/bin/env bash
# shellcheck.sh: checks every shell script of the repository; those that others source are checked with them.
set -euo pipefail
cd "$(dirname "$0")/../.."
tools/ensureDebian.sh shellcheck
grep -rlE --exclude-dir=node_modules --exclude-dir=.git '^#!/(usr/)?bin/(env )?(ba|da)?sh' tools images games .ci | xargs shellcheck
