# shellcheck shell=bash
# The Mono runtime from Debian with the assemblies that the game needs, beside the game as MonoKickstart has them.
install mono-runtime mono-mcs libsdl2-2.0-0
engine=$tree/engine
mkdir -p "$engine/bin" "$engine/lib/mono/4.5" "$engine/etc/mono/4.5"
mcs -optimize -warnaserror -out:"$engine/game.exe" "$recipe/game.cs"
cp -L /usr/bin/mono-sgen "$engine/bin/mono"
cp -L /usr/lib/mono/4.5/mscorlib.dll "$engine/lib/mono/4.5/"
cp -L /usr/lib/mono/4.5/{System,System.Core,System.Configuration,System.Xml,Mono.Security}.dll "$engine/"
cp -L /usr/lib/libmono-native.so /usr/lib/libMonoPosixHelper.so "$engine/lib/"
cp -L /etc/mono/config "$engine/etc/mono/"
cp -L /etc/mono/4.5/machine.config "$engine/etc/mono/4.5/"
cp -L /usr/lib/*/libSDL2-2.0.so.0 "$engine/lib/"
bundle "$engine/lib" "$engine/bin/mono" "$engine"/lib/*.so*
writeLauncher game.sh <<'LAUNCHER'
#!/bin/sh
engine=$(cd "$(dirname "$0")" && pwd)/engine
export LD_LIBRARY_PATH="$engine/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
exec "$engine/bin/mono" "$engine/game.exe"
LAUNCHER
