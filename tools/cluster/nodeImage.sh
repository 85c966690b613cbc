#!/usr/bin/env bash
# nodeImage.sh: prints the reference of the kind node image, and builds it first when its inputs changed. Only for machines
# that cannot pull the public one.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/../containers.sh"
. "$here/../programs/programs.sh"

onNode=(kubelet kubeadm kubectl)
inImages=(kube-apiserver kube-controller-manager kube-scheduler kube-proxy etcd coredns pause local-path-provisioner)
debianBase=docker.io/library/debian:bookworm-slim

# An image of one program on nothing.
programImage() {
  local name=$1 reference=$2 place=$3 context=$work/$1
  mkdir -p "$context"
  ln -f "$(programPath "$name")" "$context/$name" 2>/dev/null || cp "$(programPath "$name")" "$context/$name"
  printf 'FROM scratch\nCOPY %s %s\nENV PATH=/usr/local/bin\nENTRYPOINT ["%s"]\n' "$name" "$place" "$place" >"$context/Dockerfile"
  buildah bud --layers -t "$reference" "$context"
}

proxyImage() {
  local reference=$1 context=$work/kube-proxy
  mkdir -p "$context"
  ln -f "$(programPath kube-proxy)" "$context/kube-proxy" 2>/dev/null || cp "$(programPath kube-proxy)" "$context/kube-proxy"
  cp "$here/node/kube-proxy.Dockerfile" "$context/Dockerfile"
  buildImage "$reference" "$context/Dockerfile" "$context"
}

referenceOf() { grep "/$1:" "$work/references"; }

# Everything kubeadm starts, under the names that it asks for.
buildControlPlaneImages() {
  local name place kubeadm
  kubeadm=$(programPath kubeadm)
  "$kubeadm" config images list --kubernetes-version "$kubernetesVersion" >"$work/references"
  echo "localhost/joypod/local-path-provisioner:$(programVersion local-path-provisioner)" >>"$work/references"
  for name in "${inImages[@]}"; do
    place=/usr/local/bin/$name
    case $name in
      kube-proxy) proxyImage "$(referenceOf kube-proxy)"; continue ;;
      coredns | pause) place=/$name ;;
    esac
    programImage "$name" "$(referenceOf "$name")" "$place"
  done
}

saveImages() {
  local folder=$work/context/images
  mkdir -p "$folder/all" "$folder/control-plane"
  podman save --quiet -m -o "$folder/all/images.tar" "$(referenceOf kube-proxy)" "$(referenceOf coredns)" "$(referenceOf pause)"
  podman save --quiet -m -o "$folder/control-plane/images.tar" "$(referenceOf kube-apiserver)" "$(referenceOf kube-controller-manager)" \
    "$(referenceOf kube-scheduler)" "$(referenceOf etcd)" "$(referenceOf local-path-provisioner)"
}

# kind carries the files of its base image inside its Go module.
kindBaseFiles() {
  local module
  module=$(cd "$programModules/kind" && GOFLAGS=-mod=readonly go mod download -json sigs.k8s.io/kind | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
  [ -d "$module/images/base/files" ] || die "the Go module of kind has no base image files; run: go clean -modcache"
  printf '%s\n' "$module/images/base/files"
}

layOutContext() {
  local context=$work/context name
  mkdir -p "$context/bin"
  cp -r "$(kindBaseFiles)" "$context/base"
  chmod -R u+w "$context/base"
  for name in "${onNode[@]}"; do cp "$(programPath "$name")" "$context/bin/$name"; done
  cp "$here/node/Dockerfile" "$here/node/load-images" "$here/node/load-images.service" "$context/"
  sed -e "s|@HELPER_IMAGE@|$(referenceOf kube-proxy)|" -e "s|@PROVISIONER_IMAGE@|$(referenceOf local-path-provisioner)|" \
    "$here/node/storage.yaml" >"$context/storage.yaml"
}

buildAll() {
  buildControlPlaneImages
  saveImages
  layOutContext
  buildImage "$reference" "$work/context/Dockerfile" "$work/context" \
    --build-arg "PAUSE_IMAGE=$(referenceOf pause)" --build-arg "KUBERNETES_VERSION=$kubernetesVersion"
}

ensureNodeImage() {
  if imageExists "$reference"; then return 0; fi
  mkdir -p "$joypodCache/contexts"
  rm -rf "$joypodCache"/contexts/node.*
  work=$(mktemp -d "$joypodCache/contexts/node.XXXXXX")
  step "Building the node image $reference" node-image buildAll
  rm -rf "$work"
}

inputsHash() {
  {
    hashOf "$here/node" "$here/nodeImage.sh"
    imageIdOfBase=$("$containerEngine" image inspect --format '{{.Id}}' "$debianBase")
    echo "$imageIdOfBase"
    for name in "${onNode[@]}" "${inImages[@]}" kind; do programPath "$name"; done
  } | sha256sum | cut -c1-12
}

useEngine podman
"$here/../programs/ensure.sh" "${onNode[@]}" "${inImages[@]}" kind
JOYPOD_ENGINE=podman "$here/../images/base.sh" bookworm
reference=localhost/joypod/node:$(inputsHash)
withLock node-image ensureNodeImage
printf '%s\n' "$reference"
