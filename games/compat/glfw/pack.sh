# shellcheck shell=bash
# A program with GLFW and OpenGL from Debian.
install gcc libc6-dev libglfw3-dev libgl-dev libpulse-dev
mkdir "$tree/engine"
gcc -O2 -Wall -Wextra -Werror -o "$tree/engine/game" "$recipe/game.c" -lglfw -lGL -lpulse-simple -lpulse -lpthread -lm
bundle "$tree/engine/lib" "$tree/engine/game"
writeLauncher game.sh <<'LAUNCHER'
#!/bin/sh
engine=$(cd "$(dirname "$0")" && pwd)/engine
export LD_LIBRARY_PATH="$engine/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
exec "$engine/game"
LAUNCHER
