# shellcheck shell=bash
# The hostile game: a small program, compiled here, and one launcher per act, because a game is registered with a single launcher.
install gcc libc6-dev linux-libc-dev
mkdir -p "$tree/engine"
gcc -O2 -Wall -Wextra -Werror -o "$tree/engine/hostile" "$recipe"/*.c -ldl -lrt -lpthread
strip "$tree/engine/hostile"
for act in sockets tricks emulations report deep names links odd moving fill swap forkbomb spin memory shm output; do
  writeLauncher "$act.sh" <<LAUNCHER
#!/bin/sh
exec "\$ENGINE_DIR/hostile" $act
LAUNCHER
done
