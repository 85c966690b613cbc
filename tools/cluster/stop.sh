#!/usr/bin/env bash
# stop.sh: stops the nodes of the cluster JOYPOD_CLUSTER. up.sh starts them again with their data.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/../containers.sh"
. "$here/../programs/programs.sh"
. "$here/cluster.sh"

stopNodes() {
  local node pids=() pid
  for node in $(nodeContainers); do
    "$containerEngine" stop --time 30 "$node" &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid"; done
}

stopCluster() {
  useClusterEngine
  if [ -z "$(nodeContainers)" ]; then
    say "The cluster $clusterName does not exist."
  else
    step "Stopping the cluster $clusterName" "cluster-$clusterName" stopNodes
  fi
}

if [ -n "${JOYPOD_KUBE_CONTEXT:-}" ]; then
  say "The cluster of context $JOYPOD_KUBE_CONTEXT was not created by Joypod, so it keeps running."
  exit 0
fi
withLock "cluster-$clusterName" stopCluster
