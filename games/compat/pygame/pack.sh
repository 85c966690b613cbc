# shellcheck shell=bash
# Python and pygame from Debian with a game of its own.
install python3-pygame python3-minimal
python=$(basename "$(readlink -f /usr/bin/python3)")
mkdir -p "$tree/engine/python/bin" "$tree/engine/python/lib"
cp -L "/usr/bin/$python" "$tree/engine/python/bin/python3"
cp -rL "/usr/lib/$python" "$tree/engine/python/lib/$python"
cp -rL /usr/lib/python3/dist-packages/pygame "$tree/engine/python/lib/$python/pygame"
rm -rf "$tree/engine/python/lib/$python"/{test,idlelib,lib2to3,config-*} "$tree/engine/python/lib/$python"/pygame/{tests,examples,docs}
cp "$recipe/game.py" "$tree/engine/"
mapfile -t modules < <(find "$tree/engine/python" -name '*.so')
bundle "$tree/engine/lib" "$tree/engine/python/bin/python3" "${modules[@]}"
writeLauncher game.sh <<'LAUNCHER'
#!/bin/sh
engine=$(cd "$(dirname "$0")" && pwd)/engine
export LD_LIBRARY_PATH="$engine/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" PYTHONHOME="$engine/python" PYTHONDONTWRITEBYTECODE=1
exec "$engine/python/bin/python3" "$engine/game.py"
LAUNCHER
