# shellcheck shell=bash
# The container engine: Docker where it answers, else Debian's podman and buildah with a configuration of our own.
# Source it after lib.sh.

# Public kind node image of the Kubernetes minor that tools/programs pins, as kind's own release names it.
publicNodeImage=kindest/node:v1.35.8@sha256:07b2536e30b803ed61d1677a79df6115f798ce64c80f9e22f6ed45afd09323c0
export publicNodeImage

hasDocker() { command -v docker >/dev/null 2>&1 && timeout 15 docker info >/dev/null 2>&1; }

canPullNodeImage() {
  docker image inspect "$publicNodeImage" >/dev/null 2>&1 ||
    timeout 600 docker pull --quiet "$publicNodeImage" >/dev/null 2>&1
}

# limitUpTo flag most: the shell's hard limit, but no more than that; without CAP_SYS_RESOURCE nothing can be given more than
# its parent has, and buildah lowers its own limits to 32768.
limitUpTo() {
  local hard
  hard=$(ulimit -H "$1")
  if [ "$hard" = unlimited ] || [ "$hard" -gt "$2" ]; then echo "$2"; else echo "$hard"; fi
}

# The machine's own podman configuration stays as it is: this one is ours, given by CONTAINERS_CONF.
writePodmanConfiguration() {
  local file=$joypodCache/podman/containers.conf runtime='' files processes
  mkdir -p "$(dirname "$file")"
  files=$(limitUpTo -n 16000)
  processes=$(limitUpTo -u 16000)
  # crun refuses the mixed hierarchy of cgroup v1 hosts.
  if [ ! -f /sys/fs/cgroup/cgroup.controllers ]; then runtime='runtime = "runc"'; fi
  cat >"$file.$$" <<CONF
[containers]
default_ulimits = ["nofile=$files:$files", "nproc=$processes:$processes"]
[engine]
$runtime
[network]
network_backend = "netavark"
default_subnet = "10.76.0.0/24"
CONF
  mv "$file.$$" "$file"
  export CONTAINERS_CONF=$file BUILDAH_ISOLATION=chroot STORAGE_DRIVER=overlay
}

usePodman() {
  [ "$(id -u)" -eq 0 ] || die "no Docker engine with $publicNodeImage answers, and podman needs root here; start Docker or run as root."
  "$repositoryRoot/tools/ensureDebian.sh" podman netavark aardvark-dns runc buildah mmdebstrap iproute2 iptables
  mkdir -p /lib/modules
  writePodmanConfiguration
  containerEngine=podman
}

# useEngine [docker|podman]: sets containerEngine, by what is given (a cluster keeps its engine) or by what answers.
useEngine() {
  case ${1:-} in
    docker) containerEngine=docker ;;
    podman) usePodman ;;
    *) if hasDocker && canPullNodeImage; then containerEngine=docker; else usePodman; fi ;;
  esac
  export containerEngine
}

imageExists() { "$containerEngine" image inspect "$1" >/dev/null 2>&1; }

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

# buildImage reference dockerfile context [extra build options]: the same on either engine.
buildImage() {
  local reference=$1 dockerfile=$2 context=$3 secret
  local options=(--network host -t "$reference" -f "$dockerfile")
  shift 3
  writeBuildSecrets
  for secret in "$buildSecrets"/*; do
    [ -f "$secret" ] && options+=(--secret "id=$(basename "$secret"),src=$secret")
  done
  if [ "$containerEngine" = docker ]; then
    DOCKER_BUILDKIT=1 nice -n 10 docker build "${options[@]}" "$@" "$context"
  else
    nice -n 10 buildah bud --layers "${options[@]}" "$@" "$context"
  fi
}
