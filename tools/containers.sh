# shellcheck shell=bash
# The container engine, and the path that this machine takes to its images and its cluster. Source it after lib.sh.
#
# On the ordinary path everything is public: Docker, or podman where there is no Docker, pulls kind's node image and Debian's base image.
# From source (tools/offline) is for machines that reach no image registry: podman, and images made of Debian packages and of
# programs built from pinned Go modules.
#
# The rule: JOYPOD_FROM_SOURCE=yes or no decides. Without it a cluster keeps the path that it was made by, and otherwise the ordinary
# path is taken where an engine answers and has the node image or pulls the base image. What was found holds for a day, or until a
# cluster is removed.

# kind's public node image of the Kubernetes minor that tools/programs pins, as kind's own release names it.
publicNodeImage=kindest/node:v1.35.8@sha256:07b2536e30b803ed61d1677a79df6115f798ce64c80f9e22f6ed45afd09323c0
# What the images are made on.
baseImage=docker.io/library/debian:trixie-slim
foundPath=$joypodCache/path.env
export publicNodeImage baseImage foundPath

answers() { command -v "$1" >/dev/null 2>&1 && timeout 15 "$1" info >/dev/null 2>&1; }

reachesRegistry() {
  "$1" image inspect "$publicNodeImage" >/dev/null 2>&1 || timeout 120 "$1" pull --quiet "$baseImage" >/dev/null 2>&1
}

# findPath engine…: takes the ordinary path with the first engine that answers and reaches its registry, else that from source.
findPath() {
  local engine
  for engine in "$@"; do
    if answers "$engine" && reachesRegistry "$engine"; then
      containerEngine=$engine fromSource=no
      return 0
    fi
  done
  [ "$*" != docker ] || die "Docker does not answer or reaches no image registry; without JOYPOD_ENGINE=docker the images are made from source."
  containerEngine=podman fromSource=yes
}

# The engine of the ordinary path when nothing is to be found out.
ordinaryEngine() {
  local engine
  for engine in "$@"; do
    if answers "$engine"; then
      containerEngine=$engine fromSource=no
      return 0
    fi
  done
  die "neither Docker nor podman answers, which JOYPOD_FROM_SOURCE=no needs; start one of them."
}

# Finds the path among the given engines, or reads what was found within the last day.
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

# choosePath: sets containerEngine (docker or podman; JOYPOD_ENGINE allows only that one) and fromSource (yes or no) by the rule above.
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

# keepPath: everything that the script starts takes the chosen path, also where none of it has left a trace yet.
keepPath() { export JOYPOD_ENGINE=$containerEngine JOYPOD_FROM_SOURCE=$fromSource; }

# prepareEngine: makes the chosen engine ready to run.
prepareEngine() {
  if [ "$fromSource" = yes ]; then
    # shellcheck source=tools/offline/engine.sh
    . "$repositoryRoot/tools/offline/engine.sh"
    usePodman
  else
    answers "$containerEngine" || die "the container engine $containerEngine does not answer; start it."
  fi
}

# useEngine [docker|podman]: the engine and its path for work that belongs to no cluster.
useEngine() {
  JOYPOD_ENGINE=${1:-${JOYPOD_ENGINE:-}}
  choosePath
  prepareEngine
}

imageExists() { "$containerEngine" image inspect "$1" >/dev/null 2>&1; }

# ensureBaseImage: has the base image of all our images at hand.
ensureBaseImage() {
  if [ "$fromSource" = yes ]; then
    "$repositoryRoot/tools/offline/baseImage.sh" trixie
  elif ! imageExists "$baseImage"; then
    step "Pulling $baseImage" base-image "$containerEngine" pull --quiet "$baseImage"
  fi
}

# What this machine needs to reach its package registries, handed to builds as secrets and never left in an image:
# ca (a private CA bundle), npmrc (registries and their credentials) and apt (proxies).
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
  # One by one, because another build may be reading the ones that are there.
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

# buildImage reference dockerfile context [extra build options]: the same with every engine.
buildImage() {
  local reference=$1 dockerfile=$2 context=$3 secret build
  local options=(--network host -t "$reference" -f "$dockerfile")
  shift 3
  writeBuildSecrets
  for secret in "$buildSecrets"/*; do
    [ -f "$secret" ] && options+=(--secret "id=$(basename "$secret"),src=$secret")
  done
  case $containerEngine-$fromSource in
    # Attestations would make an index of the image, which nodes cannot be given.
    docker-no) build=(env DOCKER_BUILDKIT=1 docker build --provenance=false --sbom=false) ;;
    podman-no) build=(podman build --layers) ;;
    *) build=(buildah bud --layers) ;;
  esac
  nice -n 10 "${build[@]}" "${options[@]}" "$@" "$context"
}

# removeOldTags reference: keeps the image and the two newest other tags of its name; those that a container uses stay as well. An image that
# is built of kept layers alone is as old as it was, and so may be the oldest.
removeOldTags() {
  local reference
  "$containerEngine" images --format '{{.Repository}}:{{.Tag}}' --filter "reference=${1%:*}" 2>/dev/null | awk -v built="$1" '$0 != built && ++others > 2' |
    while read -r reference; do "$containerEngine" rmi "$reference" >/dev/null 2>&1 || true; done
}
