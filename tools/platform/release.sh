# shellcheck shell=bash
# Installs and upgrades the chart. Source it after cluster.sh.

helmDo() { "$(programPath helm)" --kubeconfig "$clusterKubeconfig" --namespace joypod "$@"; }

# ensureRestricted namespace: makes the namespace when it is missing, and labels it so that no pod with a right over its node gets in.
# Agents that an earlier release put there go on until the upgrade has moved them.
ensureRestricted() {
  local labels=() use
  for use in enforce warn audit; do labels+=("pod-security.kubernetes.io/$use=restricted"); done
  kubectlDo get namespace "$1" >/dev/null 2>&1 || kubectlDo create namespace "$1"
  kubectlDo label namespace "$1" --overwrite "${labels[@]}"
}

# The extended resource that game nodes offer; empty, for software rendering, when none does. Where a device plugin was taken away its kubelet still
# names the resource, of which there are 0 then.
gpuResource() {
  local counts
  counts=$(kubectlDo get nodes -o 'jsonpath={.items[*].status.allocatable.nvidia\.com/gpu}')
  if [[ $counts == *[1-9]* ]]; then echo nvidia.com/gpu; fi
}

# A helm that was killed leaves its revision pending, and every later one would refuse to go on.
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

# What an admin would look at first.
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
