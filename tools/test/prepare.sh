#!/usr/bin/env bash
# prepare.sh: what the tests need besides node_modules: programs, Debian packages, the test cluster and the images.
# A cluster of that name which an earlier run left behind is removed first, unless JOYPOD_KEEP is set.
set -euo pipefail
tools=$(cd "$(dirname "$0")/.." && pwd)

"$tools/test/prerequisites.sh"
"$tools/programs/ensure.sh"
if [ -z "${JOYPOD_KEEP:-}" ]; then "$tools/cluster/delete.sh"; fi
"$tools/cluster/up.sh"
"$tools/images/build.sh"
"$tools/images/load.sh"
