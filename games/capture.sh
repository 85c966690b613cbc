# shellcheck shell=bash
# capture.sh game picture.jpg: plays the game of /archive.tar.gz on a virtual display and stores a screenshot. Runs as root in a
# container of the game image, with this folder as /games. Recipes (games/<game>/play.sh) use the functions below and the variables
# game, the unpacked archive, and window, the window to capture instead of the whole display.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 DISPLAY=:9 HOME=/tmp/home SDL_AUDIODRIVER=dummy LIBGL_ALWAYS_SOFTWARE=1
recipe=/games/$1
game=/tmp/game
picture=$2
window=root
mkdir "$game" "$HOME"

colours() { import -window root -format %k info: 2>/dev/null || echo 0; }

# awaitColours number: waits up to a minute until the screen shows that many colours, so that it is not a plain menu or loading screen.
awaitColours() {
  local second shown
  for ((second = 0; second < 60; second++)); do
    shown=$(colours)
    if [ "$shown" -ge "$1" ]; then return 0; fi
    sleep 1
  done
  echo "The screen has $shown colours after a minute, not $1." >&2
  return 1
}

# press key…: presses one key after another, each long enough for a game that polls once a frame.
press() {
  local key
  for key in "$@"; do
    xdotool keydown "$key"
    sleep 0.3
    xdotool keyup "$key"
    sleep 0.7
  done
}

apt-get update -qq
apt-get install -y -qq --no-install-recommends xvfb xdotool imagemagick >/tmp/apt.log 2>&1 || {
  tail -n 20 /tmp/apt.log >&2
  exit 1
}
tar -xzf /archive.tar.gz -C "$game" --no-same-owner
Xvfb "$DISPLAY" -screen 0 1280x720x24 -nolisten tcp >/tmp/xvfb.log 2>&1 &
for ((try = 0; try < 50; try++)); do
  if xdotool getmouselocation >/dev/null 2>&1; then break; fi
  sleep 0.2
done

. "$recipe/play.sh"
import -window "$window" -quality 88 "$picture.new.jpg"
mv "$picture.new.jpg" "$picture"
