#!/usr/bin/env bash
# build.sh [value…]: builds the images of tools/images/table.txt (default: all) whose inputs changed. The tag
# is a hash of the inputs. Writes the references to <cache>/clusters/<cluster>/images.yaml, which Helm reads
# as values; with arguments, prints them instead. With JOYPOD_KUBE_CONTEXT, pushes the images to
# JOYPOD_IMAGE_REPOSITORY and writes the references to the context's folder. JOYPOD_PROGRAM_ARCHITECTURE
# (amd64 or arm64) builds for another architecture. Its programs cannot run here, so this works only for the
# images that are portable in tools/release/release.sh.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/../containers.sh"
. "$here/../programs/programs.sh"
. "$here/../cluster/cluster.sh"

table=$here/table.txt
repository=${JOYPOD_IMAGE_REPOSITORY:-localhost/joypod}

rowOf() { awk -v value="$1" '$1 == value' "$table"; }

inputsOf() { rowOf "$1" | awk '{for (i = 5; i <= NF; i++) print $i}'; }

# contentOf value: prints 12 hex digits of a hash over all inputs of the image.
contentOf() {
  local value=$1 input
  {
    hashOf "$repositoryRoot/$(rowOf "$value" | awk '{print $3}')"
    while read -r input; do
      case $input in
        programs/*) programVersion "${input#programs/}" ;;
        *) hashOf "$repositoryRoot/$input" ;;
      esac
    done < <(inputsOf "$value")
    rowOf "$value"
    "$containerEngine" image inspect --format '{{.Id}}' "$baseImage"
    if [ -n "$otherArchitecture" ]; then crossBase; fi
  } | sha256sum | cut -c1-12
}

referenceOf() { printf '%s/%s%s:%s\n' "$repository" "$(rowOf "$1" | awk '{print $2}')" "${otherArchitecture:+-$otherArchitecture}" "$(contentOf "$1")"; }

# Prints the reference of the base image for the other architecture.
crossBase() {
  local inputs
  inputs=$({
    hashOf "$here/crossBase.Dockerfile"
    "$containerEngine" image inspect --format '{{.Id}}' "$baseImage"
  } | sha256sum | cut -c1-12)
  printf '%s/cross-base-%s:%s\n' "$repository" "$otherArchitecture" "$inputs"
}

ensureCrossBase() {
  local reference=$1 context
  if imageExists "$reference"; then return 0; fi
  mkdir -p "$joypodCache/contexts"
  context=$(mktemp -d "$joypodCache/contexts/cross-base.XXXXXX")
  step "Building image $reference" "image-cross-base" buildImage "$reference" "$here/crossBase.Dockerfile" "$context" --build-arg "TARGET_ARCHITECTURE=$otherArchitecture"
  rm -rf "$context"
}

# Builds the programs that go into the image.
ensureInputs() {
  local input
  while read -r input; do
    case $input in programs/*) "$here/../programs/build.sh" "${input#programs/}" ;; esac
  done < <(inputsOf "$1")
}

# layOut value context: copies only the inputs into the build context, so that no other file gets into the image.
layOut() {
  local value=$1 context=$2 input
  while read -r input; do
    case $input in
      programs/*) mkdir -p "$context/programs" && cp "$(builtPath "${input#programs/}")" "$context/$input" ;;
      *) (cd "$repositoryRoot" && cp -a --parents "$input" "$context/") ;;
    esac
  done < <(inputsOf "$value")
}

ensureImage() {
  local value=$1 reference=$2 context target dockerfile options=()
  if imageExists "$reference"; then return 0; fi
  dockerfile=$(rowOf "$value" | awk '{print $3}')
  target=$(rowOf "$value" | awk '{print $4}')
  if [ "$target" != - ]; then options=(--target "$target"); fi
  # Images FROM scratch have no base to choose.
  if [ -n "$otherArchitecture" ] && grep -q '^ARG BASE=' "$repositoryRoot/$dockerfile"; then
    options+=(--build-arg "BASE=$(crossBase)" --build-arg "TARGET_ARCHITECTURE=$otherArchitecture")
  fi
  ensureInputs "$value"
  mkdir -p "$joypodCache/contexts"
  rm -rf "$joypodCache/contexts/$value".*
  context=$(mktemp -d "$joypodCache/contexts/$value.XXXXXX")
  layOut "$value" "$context"
  step "Building image $reference" "image-$value" buildImage "$reference" "$repositoryRoot/$dockerfile" "$context" "${options[@]}"
  rm -rf "$context"
  removeOldTags "$reference"
}

pushImage() { step "Pushing $1" "push-${1##*/}" "$containerEngine" push "$1"; }

if [ -n "${JOYPOD_KUBE_CONTEXT:-}" ] && [ -z "${JOYPOD_IMAGE_REPOSITORY:-}" ]; then
  die "set JOYPOD_IMAGE_REPOSITORY to a registry path that the cluster of JOYPOD_KUBE_CONTEXT can pull from."
fi
useEngineOfImages
ensureBaseImage
otherArchitecture=${JOYPOD_PROGRAM_ARCHITECTURE:-}
if [ -n "$otherArchitecture" ]; then withLock "image-cross-base" ensureCrossBase "$(crossBase)"; fi

values=("$@")
[ $# -gt 0 ] || mapfile -t values < <(awk '$1 !~ /^#/ && NF {print $1}' "$table")
mkdir -p "$clusterState"
written=$clusterState/images.yaml.$$
echo 'images:' >"$written"
for value in "${values[@]}"; do
  [ -n "$(rowOf "$value")" ] || die "there is no image $value. The names are in tools/images/table.txt."
  reference=$(referenceOf "$value")
  withLock "image-$value" ensureImage "$value" "$reference"
  if [ -n "${JOYPOD_KUBE_CONTEXT:-}" ]; then pushImage "$reference"; fi
  echo "  $value: $reference" >>"$written"
done
if [ $# -gt 0 ]; then
  cat "$written"
  rm "$written"
else
  mv "$written" "$clusterState/images.yaml"
fi
