#!/usr/bin/env bash
# load.sh: loads the images of <cache>/clusters/<cluster>/images.yaml into the cluster's nodes that lack them.
# The images of sessions are loaded only into game nodes, because the control-plane node is tainted and runs
# no sessions.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/../containers.sh"
. "$here/../programs/programs.sh"
. "$here/../cluster/cluster.sh"
. "$here/../offline/importImage.sh"

# Reads the whole list before searching it: if grep closed the pipe early, the failed writer would look like
# an error.
isMissing() {
  local present
  present=$("$containerEngine" exec "$1" ctr --namespace k8s.io images ls --quiet)
  ! grep -qxF "$2" <<<"$present"
}

# Removes older tags of the image, except those that a container still uses.
removeOld() {
  local node=$1 reference=$2 old used
  used=$("$containerEngine" exec "$node" ctr --namespace k8s.io containers ls | awk 'NR > 1 {print $2}')
  "$containerEngine" exec "$node" ctr --namespace k8s.io images ls --quiet | { grep -F "${reference%:*}:" || true; } | while read -r old; do
    if [ "$old" != "$reference" ] && ! grep -qxF "$old" <<<"$used"; then
      "$containerEngine" exec "$node" ctr --namespace k8s.io images rm "$old" >/dev/null 2>&1 || true
    fi
  done
}

# kind adds a second name with the digest (import-…), which would keep an image after its tag is removed.
loadWithKind() {
  local reference=$1 archive=$joypodCache/contexts/load.tar node nodes
  shift
  rm -f "$archive"
  "$containerEngine" save -o "$archive" "$reference"
  printf -v nodes '%s,' "$@"
  kindDo load image-archive "$archive" --nodes "${nodes%,}"
  rm "$archive"
  for node in "$@"; do
    "$containerEngine" exec "$node" sh -c 'ctr --namespace k8s.io images ls --quiet | grep ^import- | xargs -r ctr --namespace k8s.io images rm'
  done
}

loadInto() {
  local reference=$1 node
  shift
  if [ "$fromSource" = yes ]; then importImage "$reference" "$@"; else loadWithKind "$reference" "$@"; fi
  for node in "$@"; do removeOld "$node" "$reference"; done
}

# nodesOf value: prints the nodes that can run pods with this image.
nodesOf() {
  case $1 in
    streamer: | game:) nodeContainers | grep -v -- -control-plane ;;
    *) nodeContainers ;;
  esac
}

loadAll() {
  local value reference node missing
  mkdir -p "$joypodCache/contexts"
  while read -r value reference; do
    missing=()
    while read -r node; do
      if isMissing "$node" "$reference"; then missing+=("$node"); fi
    done < <(nodesOf "$value")
    if [ "${#missing[@]}" -gt 0 ]; then
      step "Loading ${reference##*/} into ${missing[*]}" "load-$clusterName" loadInto "$reference" "${missing[@]}"
    fi
  done < <(awk 'NR > 1 {print $1, $2}' "$clusterState/images.yaml")
}

if [ -n "${JOYPOD_KUBE_CONTEXT:-}" ]; then exit 0; fi
useClusterEngine
if [ "$fromSource" = no ]; then ensurePrograms kind; fi
[ -f "$clusterState/images.yaml" ] || die "no images were built for the cluster $clusterName. Run: make images"
withLock "load" loadAll
