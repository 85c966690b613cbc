#!/usr/bin/env bash
# down.sh: stops the platform and keeps its data. Stops a cluster made here. With JOYPOD_KUBE_CONTEXT,
# uninstalls the release, but keeps its secrets, volumes and CRDs.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/../containers.sh"
. "$here/../programs/programs.sh"
. "$here/../cluster/cluster.sh"
. "$here/release.sh"

# Ends running sessions as if their players had stopped them, so that their saves are stored.
endSessions() {
  kubectlDo --request-timeout=10s get crd gamesessions.joypod.dev >/dev/null 2>&1 || return 0
  kubectlDo --namespace joypod-sessions delete gamesessions --all --timeout=60s
}

if [ -f "$clusterKubeconfig" ]; then
  if [ -n "${JOYPOD_KUBE_CONTEXT:-}" ]; then choosePath; else chooseClusterPath; fi
  ensurePrograms kubectl helm
  if kubectlDo --request-timeout=5s get --raw /readyz >/dev/null 2>&1; then
    (step "Ending the game sessions of the cluster $clusterName" "down-$clusterName" endSessions) || say "Some sessions did not end within a minute. Stopping anyway."
    if [ -n "${JOYPOD_KUBE_CONTEXT:-}" ]; then helmDo uninstall joypod --ignore-not-found --wait; fi
  fi
fi
exec "$here/../cluster/stop.sh"
