# shellcheck shell=bash
# The emulator Mednafen from Debian with a game for the NES of its own.
install mednafen cc65
mkdir "$tree/engine"
cp "$recipe/game.c" /tmp/game.c
cl65 -t nes -O -o "$tree/engine/game.nes" /tmp/game.c
cp -L /usr/games/mednafen "$tree/engine/"
bundle "$tree/engine/lib" "$tree/engine/mednafen"
writeLauncher game.sh <<'LAUNCHER'
#!/bin/sh
engine=$(cd "$(dirname "$0")" && pwd)/engine
export LD_LIBRARY_PATH="$engine/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
exec "$engine/mednafen" -video.fs 1 "$engine/game.nes"
LAUNCHER
