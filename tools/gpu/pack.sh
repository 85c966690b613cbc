#!/usr/bin/env bash
# pack.sh image archive: packs the files of a streamer image and check.sh into one archive, which checks a
# machine without a container engine. The archive's name decides how it is compressed (.tar, .tar.gz, .tar.xz).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$repositoryRoot/tools/containers.sh"

[ $# -eq 2 ] || die "name the streamer's image and the archive to write."
archive=$(realpath "$2")
useEngine "${JOYPOD_ENGINE:-}"
folder=$(mktemp -d)
container=$("$containerEngine" create "$1")
trap '"$containerEngine" rm --force "$container" >/dev/null; rm -rf "$folder"' EXIT
root=$folder/joypod-gpu-check/root
mkdir -p "$root"
"$containerEngine" export "$container" | tar -x -C "$root" --exclude='dev/*' --exclude='proc/*' --exclude='sys/*'
cp "$here/check.sh" "$folder/joypod-gpu-check/"
XZ_OPT=-T0 tar -C "$folder" --owner 0 --group 0 --numeric-owner --auto-compress -cf "$archive" joypod-gpu-check
