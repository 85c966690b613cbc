# shellcheck shell=bash
# Chromium from Debian with a page as its game, in the way of Electron and NW.js.
install chromium
mkdir -p "$tree/engine/chromium"
cp -rL /usr/lib/chromium/. "$tree/engine/chromium/"
rm -f "$tree/engine/chromium/chrome-sandbox" # Its setuid bit has no effect in an archive.
find "$tree/engine/chromium/locales" -name '*.pak' ! -name en-US.pak -delete
cp "$recipe/game.html" "$tree/engine/"
bundle "$tree/engine/lib" "$tree/engine/chromium/chromium"
writeLauncher game.sh <<'LAUNCHER'
#!/bin/sh
engine=$(cd "$(dirname "$0")" && pwd)/engine
export LD_LIBRARY_PATH="$engine/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
exec "$engine/chromium/chromium" --no-sandbox --kiosk --no-first-run --user-data-dir="$HOME/chromium" \
  --disk-cache-dir="$XDG_CACHE_HOME/chromium" --enable-logging=stderr "file://$engine/game.html"
LAUNCHER
