#!/usr/bin/env bash
# build.sh game…: packs each game in a container of the game image and prints the path of its archive. Existing archives are reused.
# Environment: JOYPOD_GAME_IMAGE, the game image to use; built with tools/images/build.sh by default.
set -euo pipefail
. "$(dirname "$0")/../tools/lib.sh"
. "$repositoryRoot/tools/containers.sh"

games=$repositoryRoot/games

# Prints a hash of an archive's inputs: the recipe, the sources and the libraries of the game image.
contentOf() {
  local recipe=("$games/packing.sh" "$games/$1/pack.sh") source
  while read -r source; do recipe+=("$source"); done < <(find "$games/$1" -type f ! -name pack.sh ! -name '*.json' ! -name '*.md' | LC_ALL=C sort)
  {
    hashOf "${recipe[@]}"
    echo "$provided"
  } | sha256sum | cut -c1-12
}

pack() {
  local game=$1 archive=$2 mounts=() try
  writeBuildSecrets
  if [ -f "$buildSecrets/ca" ]; then mounts+=(-v "$buildSecrets/ca:/run/secrets/ca:ro"); fi
  if [ -f "$buildSecrets/apt" ]; then mounts+=(-v "$buildSecrets/apt:/etc/apt/apt.conf.d/95build-host:ro"); fi
  # Tries five times, because a package mirror may be unavailable for minutes.
  for try in 1 2 3 4 5; do
    if [ "$try" -gt 1 ]; then sleep $((10 * try + RANDOM % 10)); fi
    nice -n 10 "$containerEngine" run --rm --user 0:0 --network host --entrypoint /bin/bash \
      -v "$games:/games:ro" -v "$(dirname "$archive"):/out" "${mounts[@]}" "$image" /games/packing.sh "$game" "/out/$(basename "$archive")" && return 0
    echo "Attempt $try to pack the game $game failed." >&2
  done
  return 1
}

ensureGame() {
  local archive
  archive=$joypodCache/games/${1//\//-}-$(contentOf "$1").tar.gz
  mkdir -p "$(dirname "$archive")"
  if [ ! -f "$archive" ]; then step "Packing the game $1" "game-${1//\//-}" pack "$1" "$archive"; fi
  printf '%s\n' "$archive"
}

[ $# -gt 0 ] || die "name the games to build: $(cd "$games" && printf '%s ' */pack.sh compat/*/pack.sh | sed 's#/pack.sh##g')"
for game in "$@"; do
  [ -f "$games/$game/pack.sh" ] || die "unknown game $game; see the folder games."
done
useEngine "${JOYPOD_ENGINE:-}"
image=${JOYPOD_GAME_IMAGE:-$(JOYPOD_ENGINE=$containerEngine "$repositoryRoot/tools/images/build.sh" game | sed -n 's/^  game: //p')}
provided=$("$containerEngine" run --rm --network none --entrypoint /bin/sh "$image" -c 'ldconfig -p | sort; cat /etc/debian_version' | sha256sum)
for game in "$@"; do withLock "game-${game//\//-}" ensureGame "$game"; done
