# shellcheck shell=bash
# Functions for the recipes games/<game>/pack.sh. Runs as root in a container of the game image, with this folder as /games and the
# archive's folder as /out. An archive contains every shared library that the game image lacks, and only regular files and directories.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
recipe=/games/$1
tree=/tmp/tree
mkdir "$tree"
ldconfig -p | awk '/=> /{print $1}' | sort -u >/tmp/provided

# install package[=version]…: installs the packages that a game is copied from or built with. Versions may end in *.
install() {
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends "$@" >/tmp/apt.log 2>&1 || {
    tail -n 20 /tmp/apt.log >&2
    return 1
  }
}

# bundle folder file…: copies the shared libraries that these files need, including indirect ones, unless the game image has them.
bundle() {
  local folder=$1 soname path
  shift
  mkdir -p "$folder"
  ldd "$@" 2>/dev/null | awk '/=> \//{print $1, $3}' | sort -u >/tmp/needed
  while read -r soname path; do
    grep -qxF "$soname" /tmp/provided || cp -L "$path" "$folder/$soname"
  done </tmp/needed
  # Checks only bundled files: a library of the image may lack dependencies that it never uses.
  if ldd "$@" 2>/dev/null | grep 'not found'; then
    echo "A library is missing." >&2
    return 1
  fi
}

# writeLauncher name <text: writes the script that starts the game to the archive's root.
writeLauncher() {
  cat >"$tree/$1"
  chmod 755 "$tree/$1"
}

# finish archive: packs the tree. The same files always produce the same archive.
finish() {
  find "$tree" \( -type l -o ! -type f ! -type d \) -print -quit | grep . && {
    echo "The tree has links or special files." >&2
    return 1
  }
  find "$tree" -type d -exec chmod 755 {} +
  find "$tree" -type f -perm /111 -exec chmod 755 {} +
  find "$tree" -type f ! -perm /111 -exec chmod 644 {} +
  (cd "$tree" && find . -mindepth 1 -printf '%P\0' | sort -z | tar --null --no-recursion --hard-dereference --format=posix \
    --pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime --owner=0 --group=0 --numeric-owner --mtime=@0 -cf - -T -) | gzip -n -6 >"$1.new"
  mv "$1.new" "$1"
  echo "$(du -sm "$tree" | cut -f1) MB unpacked, $(du -m "$1" | cut -f1) MB packed"
}

. "$recipe/pack.sh"
finish "$2"
