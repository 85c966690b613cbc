#!/usr/bin/env bash
# long.sh: runs the tests that `make test` leaves out: first test/soak and test/long, which need no cluster,
# then test/e2e-long on a cluster (JOYPOD_CLUSTER, default joypod-test). Removes the cluster at the end unless
# JOYPOD_KEEP is set. A part that fails does not stop the others.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
cd "$repositoryRoot"
export JOYPOD_CLUSTER=${JOYPOD_CLUSTER:-joypod-test}
soakLog=test-results/soak.log
code=0

# Runs in a separate shell, so that a failed command ends only this part.
part() { bash -c "$1" || code=1; }

# Soak tests mostly wait, so they run in the background. Their output is printed at the end.
mkdir -p "${soakLog%/*}"
npm run --silent soak >"$soakLog" 2>&1 &
soak=$!
trap 'kill "$soak" 2>/dev/null || true' EXIT
part 'npm run --silent test:long'
wait "$soak" || code=1
cat "$soakLog"
if JOYPOD_HELM_VALUES=$repositoryRoot/test/e2e/values.yaml "$here/../platform/up.sh"; then
  part 'npm run --silent e2e:long'
  # These create their own clusters, and the machine has no room for two of them.
  part 'tools/cluster/stop.sh && npm run --silent e2e:upgrade'
  part 'npm run --silent e2e:install'
else
  code=1
fi
if [ -z "${JOYPOD_KEEP:-}" ]; then "$here/../cluster/delete.sh"; fi
exit "$code"
