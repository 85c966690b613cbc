# shellcheck shell=bash
# Debian's podman and buildah, installed here and with a configuration of our own. Sourced by tools/containers.sh.

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
  [ "$(id -u)" -eq 0 ] || die "no container engine here reaches an image registry, and making the images from source needs root; start Docker or run as root."
  "$repositoryRoot/tools/ensureDebian.sh" podman netavark aardvark-dns runc buildah mmdebstrap iproute2 iptables
  mkdir -p /lib/modules
  writePodmanConfiguration
}
