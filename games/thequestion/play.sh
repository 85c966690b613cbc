# shellcheck shell=bash
# The Question: from the menu to Sylvie's dialogue. Ren'Py's window is smaller than the display, so only the window is captured.
"$game/thequestion.sh" >/tmp/game.log 2>&1 &
awaitColours 20000
press Down Return
press Return Return Return Return Return Return Return Return
awaitColours 20000
window=$(xdotool getmouselocation --shell | sed -n 's/^WINDOW=//p')
