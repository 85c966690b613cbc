#!/usr/bin/env bash
# up.sh: the whole platform in the cluster JOYPOD_CLUSTER (default joypod) or in the context JOYPOD_KUBE_CONTEXT: cluster, images,
# chart, demo player, partner and games. What is right already stays as it is.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/../containers.sh"
. "$here/../programs/programs.sh"
. "$here/../cluster/cluster.sh"
. "$here/release.sh"

read -ra games <<<"${JOYPOD_DEMO_GAMES:-thequestion supertux}"

# The game image packs the games, so its nodes and its archives agree about the libraries it has.
buildGames() { "$repositoryRoot/games/build.sh" "${games[@]}"; }

# packGames: packs the games that are not packed yet, and sets packed to a pair game=archive each.
packGames() {
  local archives game
  archives=$(buildGames)
  packed=()
  for game in "${games[@]}"; do packed+=("$game=$(grep "/$game-" <<<"$archives")"); done
}

# The platform works without the games' pictures: when they cannot be made, a line says so and the script goes on.
prepareGames() {
  packGames
  "$repositoryRoot/games/picture.sh" "${packed[@]}" >/dev/null || say "A demo game gets no picture this time; its card in the catalogue is drawn."
}

buildImages() {
  make --silent -C "$repositoryRoot" built
  "$here/../images/build.sh"
}

prepareCluster() {
  inBackground "$here/../cluster/up.sh" >/dev/null
  inBackground buildImages
  awaitBackground
  "$here/../images/load.sh"
}

# Each takes what it needs of the others by their locks: the node image and the image of MinIO wait for their programs, and the games for
# their image.
prepareAll() {
  if [ -z "${JOYPOD_KUBE_CONTEXT:-}" ]; then inBackground ensurePrograms kind; fi
  inBackground ensurePrograms kubectl minio helm
  inBackground prepareCluster
  inBackground prepareGames
  awaitBackground
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
if [ -n "${JOYPOD_KUBE_CONTEXT:-}" ]; then choosePath; else chooseClusterPath; fi
keepPath
prepareAll
JOYPOD_GAME_IMAGE=$(awk '$1 == "game:" {print $2}' "$clusterState/images.yaml")
export JOYPOD_GAME_IMAGE
packGames
pictures=$("$repositoryRoot/games/picture.sh" --taken "${packed[@]}")
url=$(baseUrl)
withLock "release-$clusterName" installRelease "$url"

arguments=()
for pair in "${packed[@]}"; do
  game=${pair%%=*} picture=$(grep "/${pair%%=*}-" <<<"$pictures" || true)
  arguments+=(--game "$repositoryRoot/games/$game/game.json=${pair#*=}${picture:+=$picture}")
done
PATH=$repositoryRoot/node_modules/.bin:$PATH
node "$here/../seed/main.ts" --base-url "$url" --state "$clusterState" --kubectl "$(programPath kubectl)" "${arguments[@]}"
say "Ready after $(spoken "$SECONDS")."
