# shellcheck shell=bash
# Installs Debian's podman and buildah, with a separate configuration. Sourced by tools/containers.sh.

# limitUpTo flag most: prints the shell's hard limit, but at most the given number. Without CAP_SYS_RESOURCE,
# a process cannot have higher limits than its parent, and buildah lowers its own to 32768.
limitUpTo() {
  local hard
  hard=$(ulimit -H "$1")
  if [ "$hard" = unlimited ] || [ "$hard" -gt "$2" ]; then echo "$2"; else echo "$hard"; fi
}

# Writes a podman configuration and selects it with CONTAINERS_CONF. The machine's configuration does not
# change.
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
  [ "$(id -u)" -eq 0 ] || die "no container engine reaches an image registry, and building the images from source needs root. Start Docker, or run as root."
  "$repositoryRoot/tools/ensureDebian.sh" podman netavark aardvark-dns runc buildah mmdebstrap iproute2 iptables
  mkdir -p /lib/modules
  writePodmanConfiguration
}
