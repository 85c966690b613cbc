# shellcheck shell=bash
# A program for SDL 1.2 from Debian, where it runs on SDL 2.
install gcc libc6-dev libsdl1.2-compat-dev
mkdir "$tree/engine"
gcc -O2 -Wall -Wextra -Werror -o "$tree/engine/game" "$recipe/game.c" $(sdl-config --cflags --libs) -lm
# SDL 1.2 opens SDL 2 at run time.
mkdir -p "$tree/engine/lib"
cp -L /usr/lib/*/libSDL2-2.0.so.0 "$tree/engine/lib/"
bundle "$tree/engine/lib" "$tree/engine/game" "$tree/engine/lib/libSDL2-2.0.so.0"
writeLauncher game.sh <<'LAUNCHER'
#!/bin/sh
engine=$(cd "$(dirname "$0")" && pwd)/engine
export LD_LIBRARY_PATH="$engine/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export JOYPOD_CONNECT_GAMEPADS=1 # SDL 1.2 looks for gamepads only when it starts.
exec "$engine/game"
LAUNCHER
