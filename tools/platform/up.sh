#!/usr/bin/env bash
# up.sh: sets up the platform in the cluster JOYPOD_CLUSTER (default joypod) or in the context
# JOYPOD_KUBE_CONTEXT: cluster, images, chart, demo player, demo partner and demo games. Repeated runs are
# idempotent.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/../containers.sh"
. "$here/../programs/programs.sh"
. "$here/../cluster/cluster.sh"
. "$here/release.sh"

read -ra games <<<"${JOYPOD_DEMO_GAMES:-thequestion supertux}"

# The games are packed in the game image, so the archives match the libraries on the nodes.
buildGames() { "$repositoryRoot/games/build.sh" "${games[@]}"; }

# packGames: packs the games that are not packed yet, and sets packed to an array of game=archive.
packGames() {
  local archives game
  archives=$(buildGames)
  packed=()
  for game in "${games[@]}"; do packed+=("$game=$(grep "/$game-" <<<"$archives")"); done
}

# Pictures are best effort: if one cannot be made, the game gets a generated card.
prepareGames() {
  packGames
  "$repositoryRoot/games/picture.sh" "${packed[@]}" >/dev/null || say "Could not make the picture of a demo game. The catalogue shows a generated card."
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

# These jobs wait for each other through locks: the node image and the MinIO image need their programs, and
# the games need the game image.
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
    die "set JOYPOD_BASE_URL to the URL at which browsers reach NodePort 30080 of your cluster."
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
