#!/usr/bin/env bash
# up.sh: starts the cluster JOYPOD_CLUSTER (default joypod). Does nothing if it is healthy. A complete cluster
# is started again with its data, and left unchanged if that fails. An incomplete cluster is removed and
# created again. With JOYPOD_KUBE_CONTEXT, only checks that the cluster of that context answers.
# The last lines on standard output are KUBECONFIG=… and, for clusters made here, WEB_PORT=….
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/../containers.sh"
. "$here/../programs/programs.sh"
. "$here/cluster.sh"
. "$here/kindConfig.sh"

useGivenContext() {
  local written=$clusterKubeconfig.$$
  mkdir -p "$clusterState"
  chmod 700 "$clusterState"
  choosePath
  ensurePrograms kubectl helm
  if ! "$(programPath kubectl)" config view --minify --flatten --context "$JOYPOD_KUBE_CONTEXT" >"$written" 2>/dev/null; then
    rm -f "$written"
    die "your kubeconfig has no context $JOYPOD_KUBE_CONTEXT. Set JOYPOD_KUBE_CONTEXT to an existing one."
  fi
  mv "$written" "$clusterKubeconfig"
  kubectlDo config use-context "$JOYPOD_KUBE_CONTEXT" >/dev/null
  kubectlDo --request-timeout=15s get nodes >/dev/null || die "the cluster of context $JOYPOD_KUBE_CONTEXT does not answer."
}

isRunning() { [ "$("$containerEngine" inspect --format '{{.State.Status}}' "$1")" = running ]; }

# isComplete: succeeds if the cluster was created completely and all its node containers
# exist, running or not.
isComplete() {
  [ "$READY" = yes ] && [ -f "$clusterKubeconfig" ] && [ "$(wc -w <<<"$nodes")" -eq $((gameNodes + 1)) ]
}

isHealthy() {
  local node
  isComplete || return 1
  for node in $nodes; do isRunning "$node" || return 1; done
  kubectlDo --request-timeout=10s get --raw /readyz >/dev/null 2>&1 || return 1
  # Nodes may be NotReady for a short time after a test, or after the machine was suspended.
  kubectlDo wait --for=condition=Ready nodes --all --timeout=30s >/dev/null 2>&1 &&
    [ "$(kubectlDo get nodes -o name | wc -l)" -eq $((gameNodes + 1)) ]
}

# Starts stopped nodes (make down, a reboot) again with their data, and restores the routes and rules that do
# not survive a stop. Nodes that are running do not change.
resume() {
  local node
  for node in $nodes; do "$containerEngine" start "$node"; done
  awaitApi
  if [ "$fromSource" = yes ]; then connectPods; fi
  kubectlDo wait --for=condition=Ready nodes --all --timeout=90s
}

awaitApi() {
  local deadline=$((SECONDS + 90))
  until kubectlDo --request-timeout=5s get --raw /readyz >/dev/null 2>&1; do
    if [ "$SECONDS" -gt "$deadline" ]; then die "the API server did not answer within 90 s."; fi
    sleep 1
  done
}

# startAgain: starts a complete cluster. If it does not become healthy, exits without removing anything.
startAgain() {
  isRunning "$clusterName-control-plane" || portIsFree "$WEB_PORT" ||
    die "port $WEB_PORT of the cluster $clusterName is in use. Free it, or remove the cluster with its data: make clean-cluster."
  trap 'say "joypod: the cluster $clusterName is not healthy and was left unchanged. Try again, or remove it with its data: make clean-cluster."' EXIT
  step "Starting the cluster $clusterName again" "resume-$clusterName" resume
  isHealthy || exit 1
  trap - EXIT
}

chooseWebPort() {
  if [ -n "${JOYPOD_WEB_PORT:-}" ]; then
    WEB_PORT=$JOYPOD_WEB_PORT
    portIsFree "$WEB_PORT" || die "port $WEB_PORT is in use. Set JOYPOD_WEB_PORT to a free port."
  elif [ -z "$WEB_PORT" ] || ! portIsFree "$WEB_PORT"; then
    WEB_PORT=8080
    if [ "$clusterName" != joypod ] || ! portIsFree 8080; then WEB_PORT=$(freePort); fi
  fi
}

createCluster() {
  local image=$1
  # The lock keeps two clusters that are created at the same time from choosing the same addresses.
  if [ "$fromSource" = yes ]; then withLock networks createNetwork; fi
  kindConfig "$WEB_PORT" "$fromSource" "$gameNodes" >"$clusterState/kind.yaml"
  # Not through kindDo: $! would be its shell, not kind.
  "$(programPath kind)" create cluster --config "$clusterState/kind.yaml" --image "$image" --kubeconfig "$clusterKubeconfig" --name "$clusterName" &
  echo $! >"$clusterState/kind.pid"
  wait $!
  rm -f "$clusterState/kind.pid"
  if [ "$fromSource" = yes ]; then connectPods; fi
  kubectlDo wait --for=condition=Ready nodes --all --timeout=120s
  kubectlDo --namespace kube-system rollout status deployment/coredns --timeout=120s
  kubectlDo --namespace local-path-storage rollout status deployment/local-path-provisioner --timeout=120s
}

bringUp() {
  local image=$publicNodeImage
  useClusterEngine
  # An existing cluster keeps its number of game nodes.
  if [ "$READY" = yes ]; then gameNodes=${GAME_NODES:-$gameNodes}; fi
  if [ "$fromSource" = yes ]; then
    # shellcheck source=tools/offline/network.sh
    . "$here/../offline/network.sh"
  fi
  if [ "$READY" = yes ]; then ensurePrograms kubectl; fi
  nodes=$(nodeContainers) || die "$containerEngine cannot list the containers of the cluster $clusterName. Check that $containerEngine works, and try again."
  if isHealthy; then
    # Something else, or an interrupted run, may have started the nodes without their routes.
    if [ "$fromSource" = yes ]; then connectPods; fi
    return 0
  fi
  if isComplete; then
    startAgain
    return 0
  fi
  if [ "$fromSource" = yes ]; then image=$("$here/../offline/nodeImage.sh"); fi
  ensurePrograms kind kubectl
  if [ -n "$nodes" ]; then say "The cluster $clusterName is incomplete. Creating it again."; fi
  "$here/delete.sh" --keep-state
  gameNodes=$wantedGameNodes GAME_NODES=$wantedGameNodes
  chooseWebPort
  READY=no
  writeState
  step "Creating the cluster $clusterName" "cluster-$clusterName" createCluster "$image"
  READY=yes
  writeState
}

if [ -n "${JOYPOD_KUBE_CONTEXT:-}" ]; then
  useGivenContext
  echo "KUBECONFIG=$clusterKubeconfig"
else
  withLock "cluster-$clusterName" bringUp
  printf 'KUBECONFIG=%s\nWEB_PORT=%s\n' "$clusterKubeconfig" "$WEB_PORT"
fi
