#!/usr/bin/env bash
# ensure.sh [name…]: builds the named programs (all of the table without names) from their pinned Go modules into the
# cache folder, <cache>/programs/<name>-<version>/<name>. At once and silent when they are there.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/programs.sh"

# A kubectl and a kubelet that do not know their version are refused by kubeadm.
linkerFlags() {
  local flags='-s -w'
  if [ "$(programField "$1" 2)" = kubernetes ]; then
    local package version=$kubernetesVersion minor
    minor=${version#v1.}
    for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
      flags="$flags -X $package.gitVersion=$version -X $package.gitMajor=1 -X $package.gitMinor=${minor%%.*}"
    done
  fi
  printf '%s\n' "$flags"
}

compile() {
  local name=$1 output=$2
  cd "$programModules/$(programField "$name" 2)"
  # GOTOOLCHAIN=auto lets an older Go fetch the one that the module asks for.
  GOTOOLCHAIN=auto CGO_ENABLED=0 GOFLAGS=-mod=readonly nice -n 10 go build -trimpath -buildvcs=false \
    -ldflags "$(linkerFlags "$name")" -o "$output" "$(programField "$name" 3)"
}

build() {
  local name=$1 path=$2 temporary
  if [ -x "$path" ]; then return 0; fi
  needCommand go "the Go toolchain is missing; install Go 1.24 or later (https://go.dev/dl) to build $name."
  mkdir -p "$(dirname "$path")"
  rm -f "$path".building.*
  temporary=$path.building.$$
  step "Building $name $(programVersion "$name")" "program-$name" compile "$name" "$temporary"
  mv "$temporary" "$path"
}

names=("$@")
[ $# -gt 0 ] || mapfile -t names < <(awk '$1 !~ /^#/ && NF {print $1}' "$programTable")
for name in "${names[@]}"; do
  path=$(programPath "$name")
  if [ ! -x "$path" ]; then withLock "program-$name" build "$name" "$path"; fi
done
