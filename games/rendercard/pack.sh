# shellcheck shell=bash
# The render card: a small program, compiled here.
install gcc libc6-dev libx11-dev libgl-dev libvulkan-dev
mkdir -p "$tree/engine"
gcc -O2 -Wall -Wextra -Werror -o "$tree/engine/rendercard" "$recipe"/*.c -lX11 -lGL -lvulkan
strip "$tree/engine/rendercard"
for card in render:gl vulkan:vulkan; do
  writeLauncher "${card%:*}card.sh" <<LAUNCHER
#!/bin/sh
exec "\$(dirname "\$0")/engine/rendercard" ${card#*:}
LAUNCHER
done
