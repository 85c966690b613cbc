# shellcheck shell=bash
# Installs and upgrades the chart. Source it after cluster.sh.

helmDo() { "$(programPath helm)" --kubeconfig "$clusterKubeconfig" --namespace joypod "$@"; }

# The extended resource that game nodes offer; empty, for software rendering, when none does.
gpuResource() {
  local allocatable
  allocatable=$(kubectlDo get nodes -o 'jsonpath={.items[*].status.allocatable}')
  if [[ $allocatable == *'"nvidia.com/gpu"'* ]]; then echo nvidia.com/gpu; fi
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
  if [ -n "${JOYPOD_HELM_VALUES:-}" ]; then options+=(--values "$JOYPOD_HELM_VALUES"); fi
  forgetPendingRevisions
  helmDo upgrade --install joypod "$repositoryRoot/charts/joypod" --create-namespace --wait --wait-for-jobs --timeout 5m --history-max 3 \
    --values "$clusterState/images.yaml" --set stores.bundled=true --set "gpu.resourceName=$(gpuResource)" \
    --set "api.baseUrl=$1" --set api.service.type=NodePort --set api.service.nodePort=30080 "${options[@]}"
}

# What an admin would look at first.
describeRelease() {
  kubectlDo --namespace joypod get pods -o wide
  kubectlDo --namespace joypod get events --sort-by=.lastTimestamp | tail -n 25
  kubectlDo --namespace joypod get pods --no-headers | awk '{split($2, ready, "/"); if (ready[1] != ready[2] && $3 != "Completed") print $1}' |
    while read -r pod; do
      echo "--- $pod"
      kubectlDo --namespace joypod logs "$pod" --all-containers --tail 25 --prefix
    done
}

installOrDescribe() {
  if upgrade "$1"; then return 0; fi
  describeRelease
  return 1
}

installRelease() { step "Installing the chart in the cluster $clusterName" "release-$clusterName" installOrDescribe "$1"; }
