# shellcheck shell=bash
# The runner of Godot 3 from Debian with a project of its own.
install godot3-runner
mkdir -p "$tree/engine/project"
cp -L /usr/bin/godot3-runner "$tree/engine/"
cp "$recipe"/project.godot "$recipe"/*.gd "$recipe"/*.tscn "$tree/engine/project/"
bundle "$tree/engine/lib" "$tree/engine/godot3-runner"
writeLauncher game.sh <<'LAUNCHER'
#!/bin/sh
engine=$(cd "$(dirname "$0")" && pwd)/engine
export LD_LIBRARY_PATH="$engine/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
exec "$engine/godot3-runner" --path "$engine/project"
LAUNCHER
