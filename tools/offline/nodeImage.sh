#!/usr/bin/env bash
# nodeImage.sh: prints the reference of the kind node image, and builds it first when its inputs changed.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/../containers.sh"
. "$here/../programs/programs.sh"

dockerfile=$here/node/Dockerfile
kubernetesPrograms=(kube-apiserver kube-controller-manager kube-scheduler kube-proxy kubelet kubeadm kubectl)
otherPrograms=(etcd coredns pause local-path-provisioner)

# kind carries the files of its base image inside its Go module.
kindBaseFiles() {
  local module
  module=$(cd "$programModules/kind" && GOFLAGS=-mod=readonly go mod download -json sigs.k8s.io/kind | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
  [ -d "$module/images/base/files" ] || die "the Go module of kind has no base image files; run: go clean -modcache"
  printf '%s\n' "$module/images/base/files"
}

# What needs no program yet: the context's own files, and the Debian packages of the node and of Kubernetes.
buildPackages() {
  local target
  cp -r "$(kindBaseFiles)" "$context/base"
  chmod -R u+w "$context/base"
  cp "$here/node/load-images" "$here/node/load-images.service" "$context/"
  for target in node-packages kubernetes-packages; do
    buildImage "localhost/joypod/$target" "$dockerfile" "$context" --target "$target"
  done
}

referenceOf() { grep "/$1:" "$work/references"; }

# One binary, and a link to it for each of the programs.
copyKubernetes() {
  local program
  mkdir -p "$context/bin"
  cp "$(programPath kubernetes)" "$context/bin/kubernetes"
  for program in "${kubernetesPrograms[@]}"; do ln -s kubernetes "$context/bin/$program"; done
}

buildKubernetesImage() {
  local program reference
  reference=$(referenceOf kube-proxy)
  buildImage "$reference" "$dockerfile" "$context" --target kubernetes
  for program in kube-apiserver kube-controller-manager kube-scheduler; do podman tag "$reference" "$(referenceOf "$program")"; done
}

# An image of one program on nothing.
buildProgramImage() {
  local name=$1 place=/usr/local/bin/$1 folder=$work/$1
  case $name in coredns | pause) place=/$name ;; esac
  mkdir -p "$folder"
  cp "$(programPath "$name")" "$folder/$name"
  printf 'FROM scratch\nCOPY %s %s\nENV PATH=/usr/local/bin\nENTRYPOINT ["%s"]\n' "$name" "$place" "$place" >"$folder/Dockerfile"
  buildah bud --layers -t "$(referenceOf "$name")" "$folder"
}

# Everything kubeadm starts, under the names that it asks for.
buildControlPlaneImages() {
  local name
  "$context/bin/kubeadm" config images list --kubernetes-version "$kubernetesVersion" >"$work/references"
  echo "localhost/joypod/local-path-provisioner:$(programVersion local-path-provisioner)" >>"$work/references"
  buildKubernetesImage
  for name in "${otherPrograms[@]}"; do buildProgramImage "$name"; done
}

saveImages() {
  local folder=$context/images
  mkdir -p "$folder/all" "$folder/control-plane"
  podman save --quiet -m -o "$folder/all/images.tar" "$(referenceOf kube-proxy)" "$(referenceOf kube-apiserver)" \
    "$(referenceOf kube-controller-manager)" "$(referenceOf kube-scheduler)" "$(referenceOf coredns)" "$(referenceOf pause)"
  podman save --quiet -m -o "$folder/control-plane/images.tar" "$(referenceOf etcd)" "$(referenceOf local-path-provisioner)"
}

buildNode() {
  copyKubernetes
  buildControlPlaneImages
  saveImages
  sed -e "s|@HELPER_IMAGE@|$(referenceOf kube-proxy)|" -e "s|@PROVISIONER_IMAGE@|$(referenceOf local-path-provisioner)|" \
    "$here/node/storage.yaml" >"$context/storage.yaml"
  buildImage "$reference" "$dockerfile" "$context" --target node \
    --build-arg "PAUSE_IMAGE=$(referenceOf pause)" --build-arg "KUBERNETES_VERSION=$kubernetesVersion"
}

ensureNodeImage() {
  if imageExists "$reference"; then return 0; fi
  mkdir -p "$joypodCache/contexts"
  rm -rf "$joypodCache"/contexts/node.*
  work=$(mktemp -d "$joypodCache/contexts/node.XXXXXX")
  context=$work/context
  mkdir "$context"
  step "Installing the Debian packages of the node image" node-packages buildPackages
  ensurePrograms "${kubernetesPrograms[@]}" "${otherPrograms[@]}"
  step "Building the node image $reference" node-image buildNode
  rm -rf "$work"
}

inputsHash() {
  {
    hashOf "$here/node" "$here/nodeImage.sh" "$programModules/cluster" "$programModules/kind"
    "$containerEngine" image inspect --format '{{.Id}}' debian:bookworm-slim
  } | sha256sum | cut -c1-12
}

JOYPOD_FROM_SOURCE=yes useEngine podman
"$here/baseImage.sh" bookworm
reference=localhost/joypod/node:$(inputsHash)
withLock node-image ensureNodeImage
printf '%s\n' "$reference"
