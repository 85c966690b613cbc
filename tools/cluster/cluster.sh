# shellcheck shell=bash
# What the cluster scripts share: the cluster's name, its state folder, its engine and path. Source it after lib.sh, containers.sh and
# programs.sh.

clusterName=${JOYPOD_CLUSTER:-joypod}
case $clusterName in
  *[!a-z0-9-]* | -* | '') die "JOYPOD_CLUSTER must be lower-case letters, digits and dashes; it is \"$clusterName\"." ;;
esac
clusterState=$joypodCache/clusters/$clusterName
# The cluster of a context is another one: its folder is none of a cluster made here, whose name has no dot.
if [ -n "${JOYPOD_KUBE_CONTEXT:-}" ]; then clusterState=$joypodCache/clusters/context.$(sha256sum <<<"$JOYPOD_KUBE_CONTEXT" | cut -c1-12); fi
clusterKubeconfig=$clusterState/kubeconfig
clusterNetwork=kind-$clusterName
# One game node is enough for what looks at the installation alone.
wantedGameNodes=${JOYPOD_GAME_NODES:-2}
gameNodes=$wantedGameNodes
case $gameNodes in
  [1-9]) ;;
  *) die "JOYPOD_GAME_NODES must be a number from 1 to 9; it is \"$gameNodes\"." ;;
esac
export clusterName clusterState clusterKubeconfig clusterNetwork gameNodes wantedGameNodes

# State is a small env file: ENGINE and FROM_SOURCE (the path that it was made by), WEB_PORT, GAME_NODES and, once the cluster is complete, READY=yes.
readState() {
  ENGINE='' FROM_SOURCE='' WEB_PORT='' GAME_NODES='' READY=''
  if [ -f "$clusterState/state.env" ]; then
    # shellcheck disable=SC1091
    . "$clusterState/state.env"
  fi
}

writeState() {
  mkdir -p "$clusterState"
  chmod 700 "$clusterState"
  printf 'ENGINE=%s\nFROM_SOURCE=%s\nWEB_PORT=%s\nGAME_NODES=%s\nREADY=%s\n' "$ENGINE" "$FROM_SOURCE" "$WEB_PORT" "$GAME_NODES" "$READY" >"$clusterState/state.env.$$"
  mv "$clusterState/state.env.$$" "$clusterState/state.env"
}

# chooseClusterPath: the engine and the path of the cluster; of one that is to be made, those that this machine takes.
chooseClusterPath() {
  readState
  if [ -n "$ENGINE" ] && [ -n "$FROM_SOURCE" ]; then
    containerEngine=$ENGINE fromSource=$FROM_SOURCE
    export containerEngine fromSource
  else
    choosePath
    ENGINE=$containerEngine FROM_SOURCE=$fromSource
  fi
  export KIND_EXPERIMENTAL_PROVIDER=$containerEngine KIND_EXPERIMENTAL_PODMAN_NETWORK=$clusterNetwork KIND_EXPERIMENTAL_DOCKER_NETWORK=$clusterNetwork
}

useClusterEngine() {
  chooseClusterPath
  prepareEngine
}

# useEngineOfImages: what builds the images: the cluster's engine, or any that is there for a cluster that was not made here.
useEngineOfImages() {
  if [ -n "${JOYPOD_KUBE_CONTEXT:-}" ]; then useEngine; else useClusterEngine; fi
}

kindDo() { "$(programPath kind)" "$@" --name "$clusterName"; }
kubectlDo() { "$(programPath kubectl)" --kubeconfig "$clusterKubeconfig" "$@"; }

# Names of the cluster's node containers, running or not. Fails when the engine does not say, which does not mean that there are none.
nodeContainers() {
  "$containerEngine" ps --all --filter "label=io.x-k8s.kind.cluster=$clusterName" --format '{{.Names}}' | sort
}

addressOf() {
  "$containerEngine" inspect --format '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}' "$1"
}

portIsFree() { ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

freePort() {
  local port
  while :; do
    port=$((20000 + RANDOM % 10000))
    if portIsFree "$port"; then break; fi
  done
  echo "$port"
}
