#!/usr/bin/env bash
# prepare.sh [--images]: installs the Debian packages and builds the programs that tests run. With --images it
# also builds the images and removes the cluster that an earlier run left behind, unless JOYPOD_KEEP is set.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/../containers.sh"
. "$here/../programs/programs.sh"
. "$here/../cluster/cluster.sh"

if [ "${1:-}" = --images ]; then
  if [ -z "${JOYPOD_KEEP:-}" ]; then "$here/../cluster/delete.sh"; fi
  chooseClusterPath
  keepPath
fi
inBackground "$here/prerequisites.sh"
inBackground "$here/../programs/build.sh"
if [ "${1:-}" = --images ]; then inBackground "$here/../images/build.sh"; fi
awaitBackground
