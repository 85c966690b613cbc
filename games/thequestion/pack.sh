# shellcheck shell=bash
# The Question from Debian, with its engine Ren'Py, Python and the libraries that the game image lacks.
install 'renpy-thequestion=8.3.4*' python3
share=/usr/share/games/renpy
packages=/usr/lib/python3/dist-packages
python=$(python3 -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
library=$tree/lib/python/lib/$python
modules=$tree/lib/python/lib/python3/dist-packages

# The engine, with its compiled modules in place, and the game.
cp -rL "$share/renpy" "$tree/renpy"
cp -rL "$packages/renpy/." "$tree/renpy/"
cp -rL "$share/the_question/game" "$tree/game"
cp -L "$share/renpy.py" "$tree/renpy_main.py"
cp "$recipe/start.py" "$tree/thequestion.py"
echo '(8, 3, 4)' >"$tree/game/script_version.txt" # a released game has no developer menus and does not check for changed scripts

# Python, without modules that a game never imports.
mkdir -p "$modules"
cp -L /usr/bin/python3 "$tree/lib/python/python3"
cp -rL "/usr/lib/$python" "$library"
rm -rf "$library"/{test,idlelib,ensurepip,tkinter,turtledemo,EXTERNALLY-MANAGED} "$library"/config-*
for module in pygame_sdl2 ecdsa cgi.py cgitb.py pefile.py six.py _renpy.*.so _renpybidi.*.so _renpytfd.*.so; do
  for path in "$packages"/$module; do
    if [ -e "$path" ]; then cp -rL "$path" "$modules/"; fi
  done
done
find "$tree" -name __pycache__ -prune -exec rm -rf {} +
mapfile -t objects < <(find "$tree" -name '*.so')
bundle "$tree/lib/so" "$tree/lib/python/python3" "${objects[@]}"

writeLauncher thequestion.sh <<'LAUNCHER'
#!/bin/sh
here=$(cd "$(dirname "$0")" && pwd)
export LD_LIBRARY_PATH="$here/lib/so${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export PYTHONHOME="$here/lib/python" PYTHONNOUSERSITE=1 PYTHONDONTWRITEBYTECODE=1
exec "$here/lib/python/python3" "$here/thequestion.py" "$here"
LAUNCHER

# From here on only files of the archive may be used.
mv "$share" "$share.hidden"
mv /usr/lib/python3 /usr/lib/python3.hidden
export LD_LIBRARY_PATH=$tree/lib/so PYTHONHOME=$tree/lib/python PYTHONNOUSERSITE=1 PYTHONHASHSEED=0
cp "$recipe/compile.py" "$tree/compile.py"
(cd "$tree" && HOME=/tmp SDL_VIDEODRIVER=dummy SDL_AUDIODRIVER=dummy PYTHONDONTWRITEBYTECODE=1 lib/python/python3 compile.py)
rm -rf "$tree/compile.py" "$tree/game/saves" "$tree"/log.txt "$tree"/*.txt
[ -n "$(find "$tree/game" -name '*.rpyc' -print -quit)" ] || {
  echo "No script was compiled." >&2
  exit 1
}
"$tree/lib/python/python3" "$recipe/compileModules.py" "$tree"
unset LD_LIBRARY_PATH PYTHONHOME
