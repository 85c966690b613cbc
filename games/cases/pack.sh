# shellcheck shell=bash
# Programs that reproduce reported faults, with SDL 2, SDL 3, Python and Tk from Debian.
install gcc libc6-dev libsdl2-dev libsdl3-dev libx11-dev libgl-dev pkgconf python3-tk
python=$(basename "$(readlink -f /usr/bin/python3)")
engine=$tree/engine
mkdir -p "$engine/python/bin" "$engine/python/lib" "$engine/tcl"
for program in "$recipe"/*.c; do
  name=$(basename "$program" .c)
  case $name in sdl3*) libraries=(sdl3) ;; *) libraries=(sdl2 x11 gl) ;; esac
  read -ra flags < <(pkg-config --cflags --libs "${libraries[@]}")
  gcc -O2 -Wall -Wextra -Werror -o "$engine/$name" "$program" "${flags[@]}"
done
cp -L "/usr/bin/$python" "$engine/python/bin/python3"
cp -rL "/usr/lib/$python" "$engine/python/lib/$python"
rm -rf "$engine/python/lib/$python"/{test,idlelib,config-*}
cp -rL /usr/share/tcltk/tcl8.6 /usr/share/tcltk/tk8.6 "$engine/tcl/"
cp "$recipe"/*.py "$engine/"
mapfile -t modules < <(find "$engine/python" -name '*.so')
bundle "$engine/lib" "$engine/python/bin/python3" "$engine/sdlInit" "$engine/sdl3Input" "${modules[@]}"
writeLauncher game.sh <<'LAUNCHER'
#!/bin/sh
engine=$(cd "$(dirname "$0")" && pwd)/engine
export LD_LIBRARY_PATH="$engine/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" PYTHONHOME="$engine/python" PYTHONDONTWRITEBYTECODE=1
export TCL_LIBRARY="$engine/tcl/tcl8.6" TK_LIBRARY="$engine/tcl/tk8.6"
case $CASE in
  *.py) exec "$engine/python/bin/python3" "$engine/$CASE" ;;
  largeWindow) exec "$engine/fixedWindow" 1600 1200 ;;
  *) exec "$engine/$CASE" ;;
esac
LAUNCHER
