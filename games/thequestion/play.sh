# shellcheck shell=bash
# The Question: on the whole screen (f), from the menu to where Sylvie speaks.
"$game/thequestion.sh" >/tmp/game.log 2>&1 &
awaitColours 20000
press f Down Return
press Return Return Return Return Return Return
awaitColours 20000
