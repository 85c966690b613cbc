#!/usr/bin/env bash
# up.sh: brings up the cluster JOYPOD_CLUSTER (default joypod), or leaves it as it is when it is healthy. One that was complete
# starts again with its data, or stays as it is when it cannot; one that is half made is removed and made anew. With JOYPOD_KUBE_CONTEXT it only
# checks that the context answers.
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
    die "JOYPOD_KUBE_CONTEXT names the context $JOYPOD_KUBE_CONTEXT, which your kubeconfig does not have."
  fi
  mv "$written" "$clusterKubeconfig"
  kubectlDo config use-context "$JOYPOD_KUBE_CONTEXT" >/dev/null
  kubectlDo --request-timeout=15s get nodes >/dev/null || die "the cluster of context $JOYPOD_KUBE_CONTEXT does not answer."
}

isRunning() { [ "$("$containerEngine" inspect --format '{{.State.Status}}' "$1")" = running ]; }

# isComplete: the cluster was made to its end, and all its nodes are there, in whatever state.
isComplete() {
  [ "$READY" = yes ] && [ -f "$clusterKubeconfig" ] && [ "$(wc -w <<<"$nodes")" -eq $((gameNodes + 1)) ]
}

isHealthy() {
  local node
  isComplete || return 1
  for node in $nodes; do isRunning "$node" || return 1; done
  kubectlDo --request-timeout=10s get --raw /readyz >/dev/null 2>&1 || return 1
  # Nodes that a test or a sleeping machine left NotReady get a little time.
  kubectlDo wait --for=condition=Ready nodes --all --timeout=30s >/dev/null 2>&1 &&
    [ "$(kubectlDo get nodes -o name | wc -l)" -eq $((gameNodes + 1)) ]
}

# Nodes that were stopped (make down, a reboot) start again with their data; the routes and rules that we make do not survive that. Of what
# runs already, nothing changes.
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
    if [ "$SECONDS" -gt "$deadline" ]; then die "the API server does not answer after 90 s."; fi
    sleep 1
  done
}

# startAgain: a cluster that cannot start keeps its data.
startAgain() {
  isRunning "$clusterName-control-plane" || portIsFree "$WEB_PORT" ||
    die "port $WEB_PORT, at which the cluster $clusterName is reached, is taken; free it, or remove the cluster with its data: make clean-cluster."
  trap 'say "joypod: the cluster $clusterName is not healthy and stays as it is; try again, or remove it with its data: make clean-cluster."' EXIT
  step "Starting the cluster $clusterName again" "resume-$clusterName" resume
  isHealthy || exit 1
  trap - EXIT
}

chooseWebPort() {
  if [ -n "${JOYPOD_WEB_PORT:-}" ]; then
    WEB_PORT=$JOYPOD_WEB_PORT
    portIsFree "$WEB_PORT" || die "port $WEB_PORT is taken; set JOYPOD_WEB_PORT to a free one."
  elif [ -z "$WEB_PORT" ] || ! portIsFree "$WEB_PORT"; then
    WEB_PORT=8080
    if [ "$clusterName" != joypod ] || ! portIsFree 8080; then WEB_PORT=$(freePort); fi
  fi
}

createCluster() {
  local image=$1
  # One at a time, or two clusters that are made at once would choose the same addresses.
  if [ "$fromSource" = yes ]; then withLock networks createNetwork; fi
  kindConfig "$WEB_PORT" "$fromSource" "$gameNodes" >"$clusterState/kind.yaml"
  # Not by kindDo, whose shell would be what is ended in its place.
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
  # Of a cluster that is there, its own number counts.
  if [ "$READY" = yes ]; then gameNodes=${GAME_NODES:-$gameNodes}; fi
  if [ "$fromSource" = yes ]; then
    # shellcheck source=tools/offline/network.sh
    . "$here/../offline/network.sh"
  fi
  if [ "$READY" = yes ]; then ensurePrograms kubectl; fi
  nodes=$(nodeContainers) || die "$containerEngine does not say which containers the cluster $clusterName has; see that it works, and try again."
  if isHealthy; then
    # Its nodes may have been started by something else, or by a run that was interrupted.
    if [ "$fromSource" = yes ]; then connectPods; fi
    return 0
  fi
  if isComplete; then
    startAgain
    return 0
  fi
  if [ "$fromSource" = yes ]; then image=$("$here/../offline/nodeImage.sh"); fi
  ensurePrograms kind kubectl
  if [ -n "$nodes" ]; then say "The cluster $clusterName is not complete; making it anew."; fi
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
