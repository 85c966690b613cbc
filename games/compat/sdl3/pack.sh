# shellcheck shell=bash
# A program with SDL 3 from Debian, and the libraries that the game image lacks.
install gcc libc6-dev libsdl3-dev pkgconf
mkdir "$tree/engine"
gcc -O2 -Wall -Wextra -Werror -o "$tree/engine/game" "$recipe/game.c" $(pkg-config --cflags --libs sdl3) -lm
bundle "$tree/engine/lib" "$tree/engine/game"
writeLauncher game.sh <<'LAUNCHER'
#!/bin/sh
engine=$(cd "$(dirname "$0")" && pwd)/engine
export LD_LIBRARY_PATH="$engine/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
exec "$engine/game"
LAUNCHER
