# shellcheck shell=bash
# A program with SDL 2 from Debian, and the libraries that the game image lacks.
install gcc libc6-dev libsdl2-dev
mkdir "$tree/engine"
gcc -O2 -Wall -Wextra -Werror -o "$tree/engine/game" "$recipe/game.c" $(sdl2-config --cflags --libs) -lm
bundle "$tree/engine/lib" "$tree/engine/game"
writeLauncher game.sh <<'LAUNCHER'
#!/bin/sh
engine=$(cd "$(dirname "$0")" && pwd)/engine
export LD_LIBRARY_PATH="$engine/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
exec "$engine/game"
LAUNCHER
