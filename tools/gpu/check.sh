#!/usr/bin/env bash
# check.sh: reports which displays, renderers and encoders of Joypod work on this machine, in at most four
# minutes. The Markdown report goes to stdout, the log to stderr. WIDTH, HEIGHT, FPS, CODECS and
# DISPLAY_SERVER change what is tried.
#
# It is part of the archive that pack.sh makes, which holds the streamer's files. It needs root on Linux, but
# neither a container engine nor a network. It mounts only in its own mount namespace, and the programs run
# as an unprivileged user, like sessions.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$here/root
user=10001

die() {
  echo "check.sh: $*" >&2
  exit 1
}

[ -x "$root/usr/local/bin/node" ] || die "run the copy in an archive that pack.sh made."
[ "$(id -u)" = 0 ] || die "run it as root, which is needed to change the root folder."
if [ "${1:-}" != inside ]; then exec unshare --mount --net --propagation private "$0" inside; fi

libraries=$(cd "$root" && echo usr/lib/*-linux-gnu)
declare -A boundFolders=()

# bind folder: sets bound to the path below the new root at which the folder of this machine is.
bind() {
  bound=${boundFolders[$1]:-}
  if [ -n "$bound" ]; then return 0; fi
  bound=/run/host/${#boundFolders[@]}
  mkdir -p "$root$bound"
  mount --bind "$1" "$root$bound"
  boundFolders[$1]=$bound
}

# link file name: makes a file of this machine known below the new root by this path.
link() {
  local real
  real=$(readlink -f "$1") || return 0
  if [ ! -e "$real" ]; then return 0; fi
  bind "$(dirname "$real")"
  mkdir -p "$(dirname "$root/$2")"
  ln -sfn "$bound/$(basename "$real")" "$root/$2"
}

# NVIDIA's libraries come from the machine, as the container toolkit adds them.
linkNvidia() {
  local file
  for file in $({
    ldconfig -p 2>/dev/null | sed -n 's/.*=> //p'
    ls -d /usr/local/nvidia/lib*/*.so* /usr/lib/nvidia*/*.so* 2>/dev/null || true
  } | grep -E '/lib(nvidia-|cuda\.|nvcuvid|(GLX|EGL|GLESv1_CM|GLESv2)_nvidia)[^/]*$' | grep -v /i386-linux-gnu/ | sort -u); do
    link "$file" "$libraries/$(basename "$file")"
  done
  for file in /usr/lib/*-linux-gnu/gbm/nvidia*.so /usr/lib64/gbm/nvidia*.so /usr/local/nvidia/lib*/gbm/nvidia*.so; do
    link "$file" "$libraries/gbm/$(basename "$file")"
  done
  for folder in /etc /usr/share /usr/local/nvidia/share; do
    for file in "$folder"/{glvnd/egl_vendor.d,vulkan/icd.d,egl/egl_external_platform.d}/*nvidia*.json; do
      link "$file" "usr/share${file#"$folder"}"
    done
  done
}

mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -t tmpfs tmpfs "$root/run"
for folder in dev proc sys; do mount --rbind "/$folder" "$root/$folder"; done
mkdir -m 1777 "$root/tmp/.X11-unix"
linkNvidia

groups=$(stat -c %g /dev/dri/renderD* 2>/dev/null | sort -u | paste -sd , || true)
groupOptions=(--clear-groups)
if [ -n "$groups" ]; then groupOptions=(--groups "$groups"); fi
variables=()
for name in WIDTH HEIGHT FPS CODECS DISPLAY_SERVER LOG_LEVEL; do
  if [ -n "${!name:-}" ]; then variables+=("$name=${!name}"); fi
done
exec timeout --kill-after 5 235 chroot "$root" \
  setpriv --reuid "$user" --regid "$user" --no-new-privs "${groupOptions[@]}" \
  env -i PATH=/usr/local/bin:/usr/bin:/bin HOME=/tmp DISPLAY=:99 PROFILE=gpu GST_PLUGIN_PATH=/usr/local/lib/joypod/gstreamer \
  UV_THREADPOOL_SIZE=8 "${variables[@]}" \
  node --disable-warning=ExperimentalWarning /app/session/streamer/src/machineTest/main.ts
