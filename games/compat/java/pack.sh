# shellcheck shell=bash
# A program in Java with the runtime that jlink builds from Debian's OpenJDK.
rm -f /etc/dpkg/dpkg.cfg.d/* # Its installation fails without its manual pages.
install openjdk-21-jdk-headless binutils libgif7
mkdir "$tree/engine"
javac -Werror -Xlint -d /tmp/classes "$recipe/Game.java"
jlink --add-modules java.desktop --strip-debug --no-header-files --no-man-pages --output /tmp/runtime
cp -rL /tmp/runtime "$tree/engine/runtime"
jar --create --file "$tree/engine/game.jar" --main-class Game --date 2026-01-01T00:00:00Z -C /tmp/classes .
mapfile -t libraries < <(find "$tree/engine/runtime/lib" -name '*.so')
export LD_LIBRARY_PATH="$tree/engine/runtime/lib:$tree/engine/runtime/lib/server"
bundle "$tree/engine/lib" "${libraries[@]}"
for library in "${libraries[@]}"; do rm -f "$tree/engine/lib/$(basename "$library")"; done # Java finds its own.
writeLauncher game.sh <<'LAUNCHER'
#!/bin/sh
engine=$(cd "$(dirname "$0")" && pwd)/engine
export LD_LIBRARY_PATH="$engine/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
exec "$engine/runtime/bin/java" -jar "$engine/game.jar"
LAUNCHER
