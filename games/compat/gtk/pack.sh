# shellcheck shell=bash
# A program with GTK 3, GSettings and libcanberra from Debian.
install gcc libc6-dev libgtk-3-dev libcanberra-dev libcanberra-pulse libglib2.0-bin pkgconf python3
mkdir -p "$tree/engine/lib" "$tree/engine/schemas"
gcc -O2 -Wall -Wextra -Werror -o "$tree/engine/game" "$recipe/game.c" $(pkg-config --cflags --libs gtk+-3.0 libcanberra)
glib-compile-schemas --targetdir="$tree/engine/schemas" "$recipe"
python3 "$recipe/tone.py" "$tree/engine/tone.wav"
cp -L /usr/lib/*/libcanberra-0.30/libcanberra-pulse.so "$tree/engine/lib/"
bundle "$tree/engine/lib" "$tree/engine/game" "$tree/engine/lib/libcanberra-pulse.so"
writeLauncher game.sh <<'LAUNCHER'
#!/bin/sh
engine=$(cd "$(dirname "$0")" && pwd)/engine
export LD_LIBRARY_PATH="$engine/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export GSETTINGS_SCHEMA_DIR="$engine/schemas"
exec "$engine/game" "$engine/tone.wav"
LAUNCHER
