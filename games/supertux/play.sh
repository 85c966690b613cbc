# shellcheck shell=bash
# SuperTux: the first level, behind the card that announces it; the key that ends the card starts the level.
LD_LIBRARY_PATH=$game/engine/lib "$game/engine/supertux2" --datadir "$game/engine/data" --userdir "$HOME/supertux2" --fullscreen \
  "$game/engine/data/levels/world1/welcome_antarctica.stl" >/tmp/game.log 2>&1 &
awaitColours 400
press space Return
awaitColours 1000
xdotool keydown Right
sleep 2
xdotool keyup Right
