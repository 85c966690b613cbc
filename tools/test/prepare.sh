#!/usr/bin/env bash
# prepare.sh: what the tests need besides node_modules: programs, Debian packages and the images.
# A cluster of the tests' name which an earlier run left behind is removed first, unless JOYPOD_KEEP is set.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/../containers.sh"
. "$here/../programs/programs.sh"
. "$here/../cluster/cluster.sh"

if [ -z "${JOYPOD_KEEP:-}" ]; then "$here/../cluster/delete.sh"; fi
chooseClusterPath
keepPath
inBackground "$here/prerequisites.sh"
inBackground "$here/../programs/build.sh"
inBackground "$here/../images/build.sh"
awaitBackground
