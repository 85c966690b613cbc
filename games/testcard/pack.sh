# shellcheck shell=bash
# The test card: a small program, compiled here.
install gcc libc6-dev linux-libc-dev libx11-dev libpulse-dev
mkdir -p "$tree/engine"
gcc -O2 -Wall -Wextra -Werror -Wno-format-truncation -o "$tree/engine/testcard" "$recipe/testcard.c" -lX11 -lpulse-simple -lm -lpthread
strip "$tree/engine/testcard"
writeLauncher testcard.sh <<'LAUNCHER'
#!/bin/sh
here=$(cd "$(dirname "$0")" && pwd)
exec "$here/engine/testcard"
LAUNCHER
