# shellcheck shell=bash
# Chooses the container engine and the mode: how this machine gets its images and its cluster. Source
# it after lib.sh.
#
# In the default mode, Docker (or podman if Docker does not answer) pulls kind's node image and Debian's base
# image. In from-source mode (tools/offline), for machines that reach no image registry, podman builds the
# images from Debian packages and from programs that are compiled from pinned Go modules.
#
# JOYPOD_FROM_SOURCE=yes or no sets the mode. Without it, an existing cluster keeps the mode it was created
# with. Otherwise the default mode is used if an engine answers and either has the node image or can pull the
# base image. The result is cached for a day, or until a cluster is deleted.

# kind's public node image for the Kubernetes minor version that tools/programs pins, from
# kind's release notes.
publicNodeImage=kindest/node:v1.35.8@sha256:07b2536e30b803ed61d1677a79df6115f798ce64c80f9e22f6ed45afd09323c0
# The base image of all Joypod images.
baseImage=docker.io/library/debian:trixie-slim
foundPath=$joypodCache/path.env
export publicNodeImage baseImage foundPath

answers() { command -v "$1" >/dev/null 2>&1 && timeout 15 "$1" info >/dev/null 2>&1; }

reachesRegistry() {
  "$1" image inspect "$publicNodeImage" >/dev/null 2>&1 || timeout 120 "$1" pull --quiet "$baseImage" >/dev/null 2>&1
}

# findPath engine…: chooses the default mode with the first engine that answers and reaches its registry, or
# from-source mode if there is no such engine.
findPath() {
  local engine
  for engine in "$@"; do
    if answers "$engine" && reachesRegistry "$engine"; then
      containerEngine=$engine fromSource=no
      return 0
    fi
  done
  [ "$*" != docker ] || die "Docker does not answer or reaches no image registry. Start Docker, or unset JOYPOD_ENGINE to build the images from source."
  containerEngine=podman fromSource=yes
}

# ordinaryEngine engine…: chooses the default mode with the first engine that answers, and checks no registry.
ordinaryEngine() {
  local engine
  for engine in "$@"; do
    if answers "$engine"; then
      containerEngine=$engine fromSource=no
      return 0
    fi
  done
  die "neither Docker nor podman answers. JOYPOD_FROM_SOURCE=no needs one of them; start it."
}

# rememberedPath engine…: like findPath, but reuses a result of the last 24 hours.
rememberedPath() {
  if [ -z "${JOYPOD_ENGINE:-}" ] && [ -n "$(find "$foundPath" -mmin -1440 2>/dev/null)" ]; then
    # shellcheck disable=SC1090
    . "$foundPath"
    return 0
  fi
  findPath "$@"
  if [ -z "${JOYPOD_ENGINE:-}" ]; then
    printf 'containerEngine=%s fromSource=%s\n' "$containerEngine" "$fromSource" >"$foundPath.$$"
    mv "$foundPath.$$" "$foundPath"
  fi
}

# choosePath: sets containerEngine (docker or podman; JOYPOD_ENGINE restricts the choice) and fromSource (yes
# or no), as described at the top of this file.
choosePath() {
  local engines=(docker podman)
  if [ -n "${JOYPOD_ENGINE:-}" ]; then engines=("$JOYPOD_ENGINE"); fi
  case ${JOYPOD_FROM_SOURCE:-} in
    yes) containerEngine=podman fromSource=yes ;;
    no) ordinaryEngine "${engines[@]}" ;;
    '') rememberedPath "${engines[@]}" ;;
    *) die "JOYPOD_FROM_SOURCE must be yes or no; it is \"$JOYPOD_FROM_SOURCE\"." ;;
  esac
  export containerEngine fromSource
}

# keepPath: makes all scripts that this one starts use the chosen engine and mode.
keepPath() { export JOYPOD_ENGINE=$containerEngine JOYPOD_FROM_SOURCE=$fromSource; }

# prepareEngine: installs podman in from-source mode. Otherwise checks that the engine answers.
prepareEngine() {
  if [ "$fromSource" = yes ]; then
    # shellcheck source=tools/offline/engine.sh
    . "$repositoryRoot/tools/offline/engine.sh"
    usePodman
  else
    answers "$containerEngine" || die "the container engine $containerEngine does not answer; start it."
  fi
}

# useEngine [docker|podman]: chooses and prepares the engine for work that belongs to no cluster.
useEngine() {
  JOYPOD_ENGINE=${1:-${JOYPOD_ENGINE:-}}
  choosePath
  prepareEngine
}

imageExists() { "$containerEngine" image inspect "$1" >/dev/null 2>&1; }

# ensureBaseImage: pulls or builds the base image if it is missing.
ensureBaseImage() {
  if [ "$fromSource" = yes ]; then
    "$repositoryRoot/tools/offline/baseImage.sh" trixie
  elif ! imageExists "$baseImage"; then
    step "Pulling $baseImage" base-image "$containerEngine" pull --quiet "$baseImage"
  fi
}

# Writes what builds need to reach this machine's package registries: ca (a private CA bundle), npmrc
# (registries and their credentials) and apt (proxies). Builds get them as secrets, so they never end up in an
# image.
writeBuildSecrets() {
  local fresh name ca=${SSL_CERT_FILE:-${NODE_EXTRA_CA_CERTS:-}} npmrc=${NPM_CONFIG_USERCONFIG:-$HOME/.npmrc}
  buildSecrets=$joypodCache/build-secrets
  mkdir -p "$buildSecrets"
  chmod 700 "$buildSecrets"
  fresh=$(mktemp -d "$buildSecrets/.new.XXXXXX")
  if [ -n "$ca" ] && [ -s "$ca" ]; then
    cp "$ca" "$fresh/ca"
    echo 'Acquire::https::CaInfo "/run/secrets/ca";' >"$fresh/apt"
  fi
  if [ -s "$npmrc" ]; then
    grep -E '^@[^:]+:registry *=|^//|^(https?-)?proxy *=|^noproxy *=|^strict-ssl *=' "$npmrc" >"$fresh/npmrc" || true
  fi
  echo "registry=$(npm config get registry 2>/dev/null)" >>"$fresh/npmrc"
  if command -v apt-config >/dev/null 2>&1; then
    apt-config dump 2>/dev/null | grep -iE '^Acquire::(http|https)::(Proxy|Verify-Peer|Verify-Host)' >>"$fresh/apt" || true
  fi
  # Replaced one by one, because another build may be reading the existing files.
  for name in ca npmrc apt; do
    if [ -s "$fresh/$name" ]; then
      chmod 644 "$fresh/$name"
      mv "$fresh/$name" "$buildSecrets/$name"
    else
      rm -f "$buildSecrets/$name"
    fi
  done
  rm -rf "$fresh"
}

# buildImage reference dockerfile context [extra build options]: builds an image with the chosen engine.
buildImage() {
  local reference=$1 dockerfile=$2 context=$3 secret build
  local options=(--network host -t "$reference" -f "$dockerfile")
  shift 3
  writeBuildSecrets
  for secret in "$buildSecrets"/*; do
    [ -f "$secret" ] && options+=(--secret "id=$(basename "$secret"),src=$secret")
  done
  case $containerEngine-$fromSource in
    # Attestations would turn the image into an index, which cannot be loaded into nodes.
    docker-no) build=(env DOCKER_BUILDKIT=1 docker build --provenance=false --sbom=false) ;;
    podman-no) build=(podman build --layers) ;;
    *) build=(buildah bud --layers) ;;
  esac
  nice -n 10 "${build[@]}" "${options[@]}" "$@" "$context"
}

# removeOldTags reference: keeps the image, the two newest other tags of its name, and those that a container
# uses. An image that was built entirely from cached layers keeps its old date, so it may be the oldest.
removeOldTags() {
  local reference
  "$containerEngine" images --format '{{.Repository}}:{{.Tag}}' --filter "reference=${1%:*}" 2>/dev/null | awk -v built="$1" '$0 != built && ++others > 2' |
    while read -r reference; do "$containerEngine" rmi "$reference" >/dev/null 2>&1 || true; done
}
