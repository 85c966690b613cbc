# shellcheck shell=bash
# The kind configuration: one control-plane node, whose NodePort 30080 serves the platform on localhost, and
# game nodes. Failures are detected within seconds: heartbeats every 2 s, NotReady after 8 s (4 s flapped on a
# loaded machine).

# kindConfig webPort fromSource(yes|no) gameNodes: prints the configuration. In from-source mode, network.sh
# sets up pod networking, and Debian's containerd needs the folder of registry settings, which is preset in
# the public node image.
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
$(for _ in $(seq "$3"); do printf '  - role: worker\n    labels: {nvidia.com/gpu.present: "true"}\n'; done)
$(if [ "$2" = yes ]; then printf 'containerdConfigPatches:\n  - |\n    [plugins."io.containerd.grpc.v1.cri".registry]\n      config_path = "/etc/containerd/certs.d"\n'; fi)
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
