# shellcheck shell=bash
# Shared by the cluster scripts: the cluster's name, state folder, engine and mode. Source it after lib.sh,
# containers.sh and programs.sh.

clusterName=${JOYPOD_CLUSTER:-joypod}
case $clusterName in
  *[!a-z0-9-]* | -* | '') die "JOYPOD_CLUSTER must consist of lower-case letters, digits and dashes, but is \"$clusterName\"." ;;
esac
clusterState=$joypodCache/clusters/$clusterName
# A context's folder has a dot in its name, so it never collides with the folder of a cluster made here.
if [ -n "${JOYPOD_KUBE_CONTEXT:-}" ]; then clusterState=$joypodCache/clusters/context.$(sha256sum <<<"$JOYPOD_KUBE_CONTEXT" | cut -c1-12); fi
clusterKubeconfig=$clusterState/kubeconfig
clusterNetwork=kind-$clusterName
wantedGameNodes=${JOYPOD_GAME_NODES:-2}
gameNodes=$wantedGameNodes
case $gameNodes in
  [1-9]) ;;
  *) die "JOYPOD_GAME_NODES must be a number from 1 to 9, but is \"$gameNodes\"." ;;
esac
export clusterName clusterState clusterKubeconfig clusterNetwork gameNodes wantedGameNodes

# The state is an env file: ENGINE and FROM_SOURCE (engine and mode it was created with), WEB_PORT, GAME_NODES
# and, once the cluster is complete, READY=yes.
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

# chooseClusterPath: sets the engine and mode to those of the existing cluster, or chooses them for a new one.
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

# useEngineOfImages: prepares the engine that builds the images: the cluster's, or any engine for an external
# cluster.
useEngineOfImages() {
  if [ -n "${JOYPOD_KUBE_CONTEXT:-}" ]; then useEngine; else useClusterEngine; fi
}

kindDo() { "$(programPath kind)" "$@" --name "$clusterName"; }
kubectlDo() { "$(programPath kubectl)" --kubeconfig "$clusterKubeconfig" "$@"; }

# Prints the names of the cluster's node containers, running or not. Fails if the engine does not list them,
# because that does not mean that there are none.
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
