# shellcheck shell=bash
# Networks of a cluster in from-source mode: the bridge between its nodes, and pod networking without a daemon
# (ptp, portmap and one route per node). In the public node image, kindnet does this. Source it after
# cluster.sh.

# Prints a /24 subnet that overlaps no podman network and no route of the host.
freeSubnet() {
  local third taken
  taken=$(
    podman network ls --quiet | xargs -r podman network inspect --format '{{range .Subnets}}{{.Subnet}} {{end}}'
    ip -4 route show | awk '{print $1}'
  )
  for third in $(seq 0 255); do
    if ! grep -q "10\.77\.$third\." <<<"$taken"; then
      echo "10.77.$third.0/24"
      return 0
    fi
  done
  die "10.77.0.0/16 has no free subnet. Remove unused networks: podman network prune"
}

createNetwork() {
  if ! podman network exists "$clusterNetwork"; then
    podman network create --subnet "$(freeSubnet)" "$clusterNetwork" >/dev/null
  fi
}

# networkConfig range: prints the CNI configuration of a node with this pod range.
networkConfig() {
  cat <<CONFLIST
{
  "cniVersion": "0.4.0",
  "name": "joypod",
  "plugins": [
    {
      "type": "ptp",
      "ipMasq": false,
      "ipam": {"type": "host-local", "ranges": [[{"subnet": "$1"}]], "routes": [{"dst": "0.0.0.0/0"}]}
    },
    {"type": "portmap", "capabilities": {"portMappings": true}}
  ]
}
CONFLIST
}

# Waits until the controller manager has assigned a pod range to every node. Prints "node range address"
# lines.
podRanges() {
  local node range deadline=$((SECONDS + 60))
  for node in $(nodeContainers); do
    while :; do
      range=$(kubectlDo get node "$node" -o 'jsonpath={.spec.podCIDR}')
      if [ -n "$range" ]; then break; fi
      if [ "$SECONDS" -gt "$deadline" ]; then die "node $node got no pod range within 60 s."; fi
      sleep 0.5
    done
    echo "$node $range $(addressOf "$node")"
  done
}

# Prints a script with routes to the other nodes' pods, and rules that masquerade outgoing TCP and DNS. Other
# UDP is not masqueraded: media leaves through the port mapping of its pod, and a second translation would
# change its port.
nodeRules() {
  local node=$1 ranges=$2 other range address
  echo 'set -eu'
  while read -r other range address; do
    if [ "$other" != "$node" ]; then echo "ip route replace $range via $address"; fi
  done <<<"$ranges"
  echo 'for match in "-p tcp" "-p udp --dport 53"; do'
  echo '  iptables -t nat -C POSTROUTING -s 10.244.0.0/16 ! -d 10.244.0.0/16 $match -j MASQUERADE 2>/dev/null ||'
  echo '    iptables -t nat -A POSTROUTING -s 10.244.0.0/16 ! -d 10.244.0.0/16 $match -j MASQUERADE'
  echo 'done'
}

connectPods() {
  local ranges node range address
  ranges=$(podRanges)
  while read -r node range address; do
    nodeRules "$node" "$ranges" | podman exec -i "$node" sh
    networkConfig "$range" | podman exec -i "$node" sh -c 'mkdir -p /etc/cni/net.d && cat >/etc/cni/net.d/.new && mv /etc/cni/net.d/.new /etc/cni/net.d/10-joypod.conflist'
  done <<<"$ranges"
}
