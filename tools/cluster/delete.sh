#!/usr/bin/env bash
# delete.sh [--keep-state]: removes the cluster JOYPOD_CLUSTER with its containers, volumes and network, even
# if a killed run left it incomplete. With --keep-state, the web port and the generated credentials are kept.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/../containers.sh"
. "$here/../programs/programs.sh"
. "$here/cluster.sh"

# A killed run may leave a kind process that continues to create containers.
endOrphanedKind() {
  local pid deadline=$((SECONDS + 20))
  if [ ! -f "$clusterState/kind.pid" ]; then return 0; fi
  pid=$(cat "$clusterState/kind.pid")
  if [ -n "$pid" ] && { tr '\0' ' ' <"/proc/$pid/cmdline"; } 2>/dev/null | grep -q -- "create cluster .*--name $clusterName "; then
    kill -KILL "$pid" 2>/dev/null || true
    while [ -d "/proc/$pid" ] && [ "$SECONDS" -lt "$deadline" ]; do sleep 0.2; done
  fi
  rm -f "$clusterState/kind.pid"
}

removeContainers() {
  local nodes node volumes
  nodes=$(nodeContainers) || die "$containerEngine cannot list the containers of the cluster $clusterName. Check that $containerEngine works, and try again."
  # The containers have no data to save, and podman would wait 10 s for each to stop.
  xargs -r "$containerEngine" kill <<<"$nodes" >/dev/null 2>&1 || true
  for node in $nodes; do
    volumes=$("$containerEngine" inspect --format '{{range .Mounts}}{{if eq .Type "volume"}}{{.Name}} {{end}}{{end}}' "$node" 2>/dev/null || true)
    "$containerEngine" rm --force --volumes "$node" >/dev/null 2>&1 || "$containerEngine" rm --force "$node" >/dev/null
    # shellcheck disable=SC2086
    if [ -n "$volumes" ]; then "$containerEngine" volume rm --force $volumes >/dev/null 2>&1 || true; fi
  done
}

remove() {
  endOrphanedKind
  removeContainers
  # The killed kind may have started a podman that created a container during the removal.
  if [ -n "$(nodeContainers)" ]; then removeContainers; fi
  "$containerEngine" network rm "$clusterNetwork" >/dev/null 2>&1 || true
  rm -f "$clusterKubeconfig" "$clusterState/kind.yaml"
}

if [ -n "${JOYPOD_KUBE_CONTEXT:-}" ]; then
  say "The cluster of context $JOYPOD_KUBE_CONTEXT was not created by Joypod, so it is not removed."
  exit 0
fi
useClusterEngine
if [ "${1:-}" = --keep-state ]; then
  remove
else
  withLock "cluster-$clusterName" remove
  rm -rf "$clusterState" "$foundPath"
fi
