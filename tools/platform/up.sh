#!/usr/bin/env bash
# up.sh: the whole platform in the cluster JOYPOD_CLUSTER (default joypod) or in the context JOYPOD_KUBE_CONTEXT: cluster, images,
# chart, demo player, partner and games. What is right already stays as it is. Needs node_modules, web/dist and the database client
# (`make up` sees to them).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/../containers.sh"
. "$here/../programs/programs.sh"
. "$here/../cluster/cluster.sh"
. "$here/release.sh"

games=(thequestion supertux)

# The game image packs the games, so its nodes and its archives agree about the libraries it has.
buildGames() {
  JOYPOD_ENGINE=$containerEngine JOYPOD_GAME_IMAGE=$(awk '$1 == "game:" {print $2}' "$clusterState/images.yaml") "$repositoryRoot/games/build.sh" "${games[@]}"
}

baseUrl() {
  if [ -n "${JOYPOD_BASE_URL:-}" ]; then
    echo "$JOYPOD_BASE_URL"
  elif [ -n "${JOYPOD_KUBE_CONTEXT:-}" ]; then
    die "set JOYPOD_BASE_URL to the address at which browsers reach NodePort 30080 of your cluster."
  else
    readState
    echo "http://localhost:$WEB_PORT"
  fi
}

if [ -n "${JOYPOD_KUBE_CONTEXT:-}" ]; then baseUrl >/dev/null; fi
"$here/../programs/ensure.sh" kind kubectl helm minio
"$here/../cluster/up.sh" >/dev/null
"$here/../images/build.sh"
"$here/../images/load.sh"
if [ -n "${JOYPOD_KUBE_CONTEXT:-}" ]; then useEngine "${JOYPOD_ENGINE:-}"; else useClusterEngine; fi
archives=$(buildGames)
url=$(baseUrl)
withLock "release-$clusterName" installRelease "$url"

arguments=()
for game in "${games[@]}"; do
  arguments+=(--game "$repositoryRoot/games/$game/game.json=$(grep "/$game-" <<<"$archives")")
done
exec node "$here/../seed/main.ts" --base-url "$url" --state "$clusterState" --kubectl "$(programPath kubectl)" "${arguments[@]}"
