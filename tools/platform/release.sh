# shellcheck shell=bash
# Installs and upgrades the chart. Source it after cluster.sh.

helmDo() { "$(programPath helm)" --kubeconfig "$clusterKubeconfig" --namespace joypod "$@"; }

# ensureRestricted namespace: creates the namespace if it is missing, and enforces the restricted pod security
# standard. Node agents of an earlier release in this namespace keep running until the upgrade moves them.
ensureRestricted() {
  local labels=() use
  for use in enforce warn audit; do labels+=("pod-security.kubernetes.io/$use=restricted"); done
  kubectlDo get namespace "$1" >/dev/null 2>&1 || kubectlDo create namespace "$1"
  kubectlDo label namespace "$1" --overwrite "${labels[@]}"
}

# Prints the extended resource that game nodes offer, or nothing, which means software rendering. After a
# device plugin is removed, the kubelet still reports the resource with a count of 0.
gpuResource() {
  local counts
  counts=$(kubectlDo get nodes -o 'jsonpath={.items[*].status.allocatable.nvidia\.com/gpu}')
  if [[ $counts == *[1-9]* ]]; then echo nvidia.com/gpu; fi
}

# A killed helm leaves its revision pending, and every later helm refuses to continue.
forgetPendingRevisions() {
  local status
  for status in pending-install pending-upgrade pending-rollback; do
    kubectlDo --namespace joypod delete secrets --selector "owner=helm,name=joypod,status=$status" --ignore-not-found >/dev/null
  done
}

upgrade() {
  local options=()
  if [ -z "${JOYPOD_KUBE_CONTEXT:-}" ]; then options+=(--values "$repositoryRoot/tools/platform/placement.yaml"); fi
  if [ -n "${JOYPOD_HELM_VALUES:-}" ]; then options+=(--values "$JOYPOD_HELM_VALUES"); fi
  ensureRestricted joypod
  forgetPendingRevisions
  helmDo upgrade --install joypod "$repositoryRoot/charts/joypod" --wait --wait-for-jobs --timeout 5m --history-max 3 \
    --values "$clusterState/images.yaml" --set stores.bundled=true --set "gpu.resourceName=$(gpuResource)" \
    --set "api.baseUrl=$1" --set api.service.type=NodePort --set api.service.nodePort=30080 "${options[@]}"
}

# Prints pods, events and logs of the release for troubleshooting.
describeRelease() {
  local namespace
  for namespace in joypod joypod-nodes; do
    kubectlDo --namespace "$namespace" get pods -o wide
    kubectlDo --namespace "$namespace" get events --sort-by=.lastTimestamp | tail -n 25
    kubectlDo --namespace "$namespace" get pods --no-headers | awk '{split($2, ready, "/"); if (ready[1] != ready[2] && $3 != "Completed") print $1}' |
      while read -r pod; do
        echo "--- $pod"
        kubectlDo --namespace "$namespace" logs "$pod" --all-containers --tail 25 --prefix
      done
  done
}

installOrDescribe() {
  if upgrade "$1"; then return 0; fi
  describeRelease
  return 1
}

installRelease() { step "Installing the chart in the cluster $clusterName" "release-$clusterName" installOrDescribe "$1"; }
