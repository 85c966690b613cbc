# shellcheck shell=bash
# SuperTux: the first level. The key that dismisses its title card starts the level.
LD_LIBRARY_PATH=$game/engine/lib "$game/engine/supertux2" --datadir "$game/engine/data" --userdir "$HOME/supertux2" --fullscreen \
  "$game/engine/data/levels/world1/welcome_antarctica.stl" >/tmp/game.log 2>&1 &
awaitColours 400
press space Return
awaitColours 1000
xdotool keydown Right
sleep 2
xdotool keyup Right
