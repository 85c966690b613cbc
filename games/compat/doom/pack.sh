# shellcheck shell=bash
# Chocolate Doom and the free game Freedoom from Debian.
install chocolate-doom freedoom
mkdir "$tree/engine"
cp -L /usr/games/chocolate-doom "$tree/engine/"
cp -L /usr/share/games/doom/freedoom1.wad "$tree/engine/"
bundle "$tree/engine/lib" "$tree/engine/chocolate-doom"
writeLauncher game.sh <<'LAUNCHER'
#!/bin/sh
engine=$(cd "$(dirname "$0")" && pwd)/engine
export LD_LIBRARY_PATH="$engine/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
exec "$engine/chocolate-doom" -iwad "$engine/freedoom1.wad"
LAUNCHER
