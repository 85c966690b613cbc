#!/usr/bin/env bash
# long.sh: what `make test` leaves out: faults, floods and variations, and what takes many minutes by its nature. First what needs no cluster, then, on a cluster of its own (JOYPOD_CLUSTER, default joypod-test), which is removed
# at the end unless JOYPOD_KEEP is set, the tests of test/e2e-long. A part that fails hides no other.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
cd "$repositoryRoot"
export JOYPOD_CLUSTER=${JOYPOD_CLUSTER:-joypod-test}
soakLog=test-results/soak.log
code=0

# In a shell of its own, where a failed step ends the part and not the rest.
part() { bash -c "$1" || code=1; }

# An upload of ten minutes waits for nearly all of them, so it goes beside. Its output comes when both have ended.
mkdir -p "${soakLog%/*}"
npm run --silent soak >"$soakLog" 2>&1 &
soak=$!
trap 'kill "$soak" 2>/dev/null || true' EXIT
part 'npm run --silent test:long'
wait "$soak" || code=1
cat "$soakLog"
if JOYPOD_HELM_VALUES=$repositoryRoot/test/e2e/values.yaml "$here/../platform/up.sh"; then
  part 'npm run --silent e2e:long'
  # These have clusters of their own, and the pictures of four games have no room beside another one.
  part 'tools/cluster/stop.sh && npm run --silent e2e:upgrade'
  part 'npm run --silent e2e:install'
else
  code=1
fi
if [ -z "${JOYPOD_KEEP:-}" ]; then "$here/../cluster/delete.sh"; fi
exit "$code"
