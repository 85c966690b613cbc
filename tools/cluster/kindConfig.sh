# shellcheck shell=bash
# The shape of the cluster: one control-plane node whose NodePort 30080 is the platform's door on localhost, and two game nodes, or as many as
# JOYPOD_GAME_NODES says.
# Failures show within seconds: heartbeats every 2 s, NotReady after 8 s (4 s was seen to flap on a loaded machine).

gameNodeEntries() {
  local _
  for _ in $(seq "$gameNodeCount"); do printf '  - role: worker\n    labels: {nvidia.com/gpu.present: "true"}\n'; done
}

# kindConfig webPort fromSource(yes|no): prints the configuration. From source the pods have a network of ours.
kindConfig() {
  cat <<CONFIG
kind: Cluster
apiVersion: kind.x-k8s.io/v1alpha4
networking:
  apiServerAddress: 127.0.0.1
  disableDefaultCNI: $([ "$2" = yes ] && echo true || echo false)
nodes:
  - role: control-plane
    extraPortMappings:
      - {containerPort: 30080, hostPort: $1, listenAddress: 127.0.0.1, protocol: TCP}
$(gameNodeEntries)
kubeadmConfigPatches:
  - |
    kind: KubeletConfiguration
    # Kubernetes 1.35 refuses cgroup v1 hosts unless told; without effect on others.
    failCgroupV1: false
    nodeStatusUpdateFrequency: 2s
    nodeLeaseDurationSeconds: 4
    # Processes and threads of a pod: a fork bomb is stopped by its own, far below what the node has. A session takes some hundred.
    podPidsLimit: 512
    # The images exist nowhere else: the kubelet must not remove them when the disk of the host is nearly full.
    imageGCHighThresholdPercent: 100
    imageGCLowThresholdPercent: 99
    evictionHard: {nodefs.available: "0%", nodefs.inodesFree: "0%", imagefs.available: "0%"}
  - |
    kind: ClusterConfiguration
    controllerManager:
      extraArgs:
        node-monitor-grace-period: 8s
        node-monitor-period: 1s
        node-eviction-rate: "1"
        kube-api-qps: "200"
        kube-api-burst: "400"
    scheduler:
      extraArgs:
        kube-api-qps: "200"
        kube-api-burst: "400"
CONFIG
}
