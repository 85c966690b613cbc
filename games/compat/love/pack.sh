# shellcheck shell=bash
# LÖVE from Debian with a game of its own, as a folder with main.lua.
rm -f /etc/dpkg/dpkg.cfg.d/* # Its installation fails without its manual page.
install love
mkdir -p "$tree/engine/game"
cp -L /usr/bin/love "$tree/engine/love"
cp "$recipe"/*.lua "$tree/engine/game/"
bundle "$tree/engine/lib" "$tree/engine/love"
writeLauncher game.sh <<'LAUNCHER'
#!/bin/sh
engine=$(cd "$(dirname "$0")" && pwd)/engine
export LD_LIBRARY_PATH="$engine/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
exec "$engine/love" "$engine/game"
LAUNCHER
