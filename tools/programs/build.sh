#!/usr/bin/env bash
# build.sh [program…]: builds programs of tools/programs/table.txt (default: all) from their pinned Go modules
# into the cache folder. Builds all programs of a module together, because most of the work is shared. Does
# nothing if they are cached.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/programs.sh"

# kubeadm rejects a kubectl or kubelet without a version.
linkerFlags() {
  local flags='-s -w' package minor=${kubernetesVersion#v1.}
  for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    flags="$flags -X $package.gitVersion=$kubernetesVersion -X $package.gitMajor=1 -X $package.gitMinor=${minor%%.*}"
  done
  printf '%s\n' "$flags"
}

# goBuild module folder package…: builds the packages into the folder. GOTOOLCHAIN=auto lets an older Go
# download the version that the module requires. Without debug information, which the linker strips anyway,
# compiling takes an eighth less time.
goBuild() {
  local module=$1 folder=$2 niceness=10
  shift 2
  # Creating a cluster waits for these modules; the others are needed only once it exists.
  case $module in cluster | kind) niceness=2 ;; esac
  GOARCH=${JOYPOD_PROGRAM_ARCHITECTURE:-} GOTOOLCHAIN=auto CGO_ENABLED=0 GOFLAGS=-mod=readonly nice -n "$niceness" go build -trimpath -buildvcs=false -gcflags=all=-dwarf=false \
    -ldflags "$(linkerFlags)" -o "$folder/" "$@"
}

# packagesOf module pattern: prints the packages of the module in the table that match the pattern.
packagesOf() { awk -v module="$1" -v pattern="$2" '$2 == module && $3 ~ pattern {print $3}' "$programTable"; }

compile() {
  local module=$1 folder=$2 packages package program target
  mkdir -p "$folder"
  cd "$(moduleSource "$module")"
  # One call for all local packages, so that Go compiles one while it links another. Packages of other modules
  # are built one by one, because Go refuses names in one call that differ only in case.
  mapfile -t packages < <(packagesOf "$module" '^[.]/')
  if [ "${#packages[@]}" -gt 0 ]; then goBuild "$module" "$folder" "${packages[@]}"; fi
  for package in $(packagesOf "$module" '^[a-z]+[.].*'); do goBuild "$module" "$folder" "$package"; done
  awk -v module="$module" '$2 == module && sub(/^link:/, "", $3) {print $1, $3}' "$programTable" |
    while read -r program target; do ln -s "$target" "$folder/$program"; done
}

build() {
  local module=$1 folder=$2
  if [ -d "$folder" ]; then return 0; fi
  needCommand go "the Go toolchain is missing. Install Go 1.24 or later (https://go.dev/dl) to build the programs of $module."
  rm -rf "$folder".building.*
  mkdir -p "$(dirname "$folder")"
  step "Compiling the programs of $module" "programs-$module" compile "$module" "$folder.building.$$"
  mv "$folder.building.$$" "$folder"
}

names=("$@")
[ $# -gt 0 ] || mapfile -t names < <(awk '$1 !~ /^#/ && NF {print $1}' "$programTable")
for name in "${names[@]}"; do
  module=$(programCell "$name" 2)
  folder=$(moduleFolder "$module")
  if [ ! -d "$folder" ]; then withLock "programs-$module" build "$module" "$folder"; fi
done
