# shellcheck shell=bash
# Wine from Debian with a finished prefix, and a program for Windows.
install wine wine64 gcc-mingw-w64-x86-64-win32
engine=$tree/engine
libraries=$engine/lib/x86_64-linux-gnu/wine
mkdir -p "$engine/lib/x86_64-linux-gnu" "$engine/lib/wine" "$engine/share" "$engine/build/server"
x86_64-w64-mingw32-gcc -O2 -Wall -Wextra -Werror -static -o "$engine/game.exe" "$recipe/game.c" -lwinmm -lgdi32 -lshell32 -lxinput
cp -L /usr/lib/wine/wine64 "$engine/lib/wine/"
cp -rL /usr/lib/x86_64-linux-gnu/wine "$engine/lib/x86_64-linux-gnu/"
cp -rL /usr/share/wine "$engine/share/"
# Debian's server finds its tables in /usr, or as in Wine's source, in a folder beside one named `server`.
cp -L /usr/lib/wine/wineserver64 "$engine/build/server/wineserver"
cp -rL /usr/share/wine/nls "$engine/build/nls"
rm -f "$libraries"/x86_64-unix/{winegstreamer,winedmo,gphoto2,sane}.so # Each needs many libraries.
HOME=/tmp WINEPREFIX=/tmp/prefix WINEDEBUG=-all /usr/lib/wine/wine64 wineboot --init
WINEPREFIX=/tmp/prefix /usr/lib/wine/wineserver64 -w
# The launcher links Wine's own programs and the users' folders.
cd /tmp/prefix
find . -type l -delete
for file in drive_c/windows/system32/*.*; do
  if cmp -s "$file" "$libraries/x86_64-windows/$(basename "$file")"; then rm "$file"; fi
done
rm -rf drive_c/users drive_c/windows/syswow64
echo disable >.update-timestamp # Otherwise Wine updates the prefix, because the times of files differ.
cp -r . "$engine/prefix"
cd /
LD_LIBRARY_PATH=$libraries/x86_64-unix bundle "$engine/lib/unix" "$engine/build/server/wineserver" "$libraries"/x86_64-unix/*.so
rm -f "$engine"/lib/unix/{ntdll,win32u}.so # Wine finds its own.
writeLauncher game.sh <<'LAUNCHER'
#!/bin/sh
engine=$(cd "$(dirname "$0")" && pwd)/engine
export LD_LIBRARY_PATH="$engine/lib/unix${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export WINESERVER="$engine/build/server/wineserver" WINEPREFIX=/tmp/wine WINEDEBUG=-all
cp -r "$engine/prefix" "$WINEPREFIX"
ln -s "$engine"/lib/x86_64-linux-gnu/wine/x86_64-windows/*.* "$WINEPREFIX/drive_c/windows/system32/"
mkdir -p "$WINEPREFIX/dosdevices" "$HOME/users"
ln -s ../drive_c "$WINEPREFIX/dosdevices/c:"
ln -s / "$WINEPREFIX/dosdevices/z:"
ln -s "$HOME/users" "$WINEPREFIX/drive_c/users"
[ -f "$HOME/user.reg" ] || cp "$engine/prefix/user.reg" "$HOME/"
ln -sf "$HOME/user.reg" "$WINEPREFIX/user.reg" # Wine writes through the link.
exec "$engine/lib/wine/wine64" "$engine/game.exe"
LAUNCHER
