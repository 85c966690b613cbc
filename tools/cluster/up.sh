#!/usr/bin/env bash
# up.sh: brings up the cluster JOYPOD_CLUSTER (default joypod), or leaves it as it is when it is healthy. A stopped one
# starts again with its data; one that is half made or dead is removed and made anew. With JOYPOD_KUBE_CONTEXT it only checks that the context answers.
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

isHealthy() {
  [ "$READY" = yes ] && [ -f "$clusterKubeconfig" ] || return 1
  local node
  for node in $(nodeContainers); do
    [ "$("$containerEngine" inspect --format '{{.State.Status}}' "$node")" = running ] || return 1
  done
  kubectlDo --request-timeout=10s get --raw /readyz >/dev/null 2>&1 || return 1
  # Nodes that a test or a sleeping machine left NotReady get a little time.
  kubectlDo wait --for=condition=Ready nodes --all --timeout=30s >/dev/null 2>&1 &&
    [ "$(kubectlDo get nodes -o name | wc -l)" -eq $((gameNodes + 1)) ]
}

# Nodes that were stopped (make down, a reboot) start again with their data; the routes and rules that we make do not survive that.
resume() {
  local node
  for node in $(nodeContainers); do "$containerEngine" start "$node"; done
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

isStopped() {
  [ "$READY" = yes ] && [ -f "$clusterKubeconfig" ] && [ "$(nodeContainers | wc -l)" -eq $((gameNodes + 1)) ] || return 1
  local node
  for node in $(nodeContainers); do
    [ "$("$containerEngine" inspect --format '{{.State.Status}}' "$node")" = exited ] || return 1
  done
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
    # shellcheck source=tools/fromSource/network.sh
    . "$here/../fromSource/network.sh"
  fi
  if [ "$READY" = yes ]; then ensurePrograms kubectl; fi
  if isHealthy; then return 0; fi
  if isStopped; then
    # It could not start, which must not cost it its data.
    portIsFree "$WEB_PORT" || die "port $WEB_PORT, at which the cluster $clusterName is reached, is taken; free it, or remove the cluster with its data: make clean-cluster."
    # In a shell of its own, because step ends the shell when the command fails; then the cluster is made anew.
    if (step "Starting the cluster $clusterName again" "resume-$clusterName" resume) && isHealthy; then return 0; fi
  fi
  if [ "$fromSource" = yes ]; then image=$("$here/../fromSource/nodeImage.sh"); fi
  ensurePrograms kind kubectl
  if [ -n "$(nodeContainers)" ]; then say "The cluster $clusterName is not healthy; making it anew."; fi
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
