# shellcheck shell=bash
# SuperTux from Debian: the program, its data and the libraries that the game image lacks.
install 'supertux=0.6.3*'
mkdir "$tree/engine"
cp -L /usr/games/supertux2 "$tree/engine/supertux2"
cp -rL /usr/share/games/supertux2 "$tree/engine/data"
bundle "$tree/engine/lib" "$tree/engine/supertux2"
writeLauncher supertux.sh <<'LAUNCHER'
#!/bin/sh
engine=$(cd "$(dirname "$0")" && pwd)/engine
export LD_LIBRARY_PATH="$engine/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
exec "$engine/supertux2" --datadir "$engine/data" --userdir "${HOME:-/tmp}/supertux2" --fullscreen
LAUNCHER
