#!/usr/bin/env bash
# picture.sh [--taken] game=archive…: plays each game for a moment with its recipe play.sh, in a container of the game image, and prints the
# path of a screenshot, one per line. Existing screenshots are reused; a game without a recipe has none. With --taken it only prints existing ones.
# Environment: JOYPOD_GAME_IMAGE, the game image to use; built with tools/images/build.sh by default.
set -euo pipefail
. "$(dirname "$0")/../tools/lib.sh"
. "$repositoryRoot/tools/containers.sh"

games=$repositoryRoot/games

capture() {
  local game=$1 archive=$2 picture=$3 mounts=()
  writeBuildSecrets
  if [ -f "$buildSecrets/ca" ]; then mounts+=(-v "$buildSecrets/ca:/run/secrets/ca:ro"); fi
  if [ -f "$buildSecrets/apt" ]; then mounts+=(-v "$buildSecrets/apt:/etc/apt/apt.conf.d/95build-host:ro"); fi
  timeout 300 nice -n 10 "$containerEngine" run --rm --user 0:0 --network host --entrypoint /bin/bash \
    -v "$games:/games:ro" -v "$archive:/archive.tar.gz:ro" -v "$(dirname "$picture"):/out" "${mounts[@]}" "$image" \
    /games/capture.sh "$game" "/out/$(basename "$picture")"
}

# Prints the path of a game's screenshot; nothing for a game without a recipe.
pictureOf() {
  if [ -f "$games/$1/play.sh" ]; then
    printf '%s/%s-%s.jpg\n' "$joypodCache/pictures" "$(basename "$2" .tar.gz)" "$(hashOf "$games/capture.sh" "$games/$1/play.sh")"
  fi
}

ensurePicture() {
  local game=$1 archive=$2 picture
  picture=$(pictureOf "$game" "$archive")
  mkdir -p "$(dirname "$picture")"
  if [ ! -f "$picture" ]; then step "Taking a picture of the game $game" "picture-$game" capture "$game" "$archive" "$picture"; fi
  printf '%s\n' "$picture"
}

taken=no
if [ "${1:-}" = --taken ]; then
  taken=yes
  shift
fi
[ $# -gt 0 ] || die "name the games and their archives: game=archive.tar.gz"
if [ "$taken" = yes ]; then
  for pair in "$@"; do
    picture=$(pictureOf "${pair%%=*}" "${pair#*=}")
    if [ -f "$picture" ]; then printf '%s\n' "$picture"; fi
  done
  exit 0
fi
useEngine "${JOYPOD_ENGINE:-}"
image=${JOYPOD_GAME_IMAGE:-$(JOYPOD_ENGINE=$containerEngine "$repositoryRoot/tools/images/build.sh" game | sed -n 's/^  game: //p')}
for pair in "$@"; do
  game=${pair%%=*} archive=${pair#*=}
  [ -f "$archive" ] || die "$archive is missing; run games/build.sh $game."
  [ ! -f "$games/$game/play.sh" ] || withLock "picture-$game" ensurePicture "$game" "$archive"
done
