#!/usr/bin/env bash
# build.sh streamer: makes an image of that streamer's image and the stand-ins for a GPU's encoders, when it is not there, and prints its name.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../../../tools/lib.sh"
. "$repositoryRoot/tools/containers.sh"

name=localhost/joypod/test-gpu-encoders

ensureImage() {
  if imageExists "$2"; then return 0; fi
  step "Building image $2" image-test-gpu-encoders buildImage "$2" "$here/Dockerfile" "$here" --build-arg "STREAMER=$1"
  removeOldTags "$2"
}

[ $# -eq 1 ] || die "name the image of the streamer."
useEngine "${JOYPOD_ENGINE:-}"
ensureBaseImage
reference=$name:$({
  hashOf "$here"
  echo "$1"
} | sha256sum | cut -c1-12)
withLock image-test-gpu-encoders ensureImage "$1" "$reference"
printf '%s\n' "$reference"
