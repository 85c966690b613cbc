#!/usr/bin/env bash
# publish.sh: puts the images and the chart of RELEASE_FOLDER (default dist/release) into REGISTRY (host/path): images as REGISTRY/NAME:VERSION, the chart as
# REGISTRY/charts/joypod:VERSION. Credentials are those of `docker login` or `skopeo login`, or of the file that REGISTRY_AUTH_FILE
# names; REGISTRY_CERT_DIR is a folder with a private CA's certificate (*.crt), if the machine does not trust it.
# A chart that names its images elsewhere is packed anew, which needs the repository that the release is of.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/../containers.sh"
. "$here/../programs/programs.sh"

pushAll() {
  local name options=(--all --preserve-digests)
  if [ -n "${REGISTRY_CERT_DIR:-}" ]; then options+=(--dest-cert-dir "$REGISTRY_CERT_DIR"); fi
  if [ -z "${REGISTRY_AUTH_FILE:-}" ] && [ -f "${DOCKER_CONFIG:-$HOME/.docker}/config.json" ]; then
    options+=(--authfile "${DOCKER_CONFIG:-$HOME/.docker}/config.json")
  fi
  # The chart comes last: whoever finds it finds its images.
  for name in $(node "$here/names.ts" "$folder/oci"); do
    echo "$REGISTRY/$name"
    skopeo --insecure-policy copy --retry-times 3 "${options[@]}" "oci:$folder/oci:$name" "docker://$REGISTRY/$name"
  done
}

PATH=$repositoryRoot/node_modules/.bin:$PATH
folder=${RELEASE_FOLDER:-$repositoryRoot/dist/release}
[ -n "${REGISTRY:-}" ] || die "say where to publish: make publish REGISTRY=registry.example.com/joypod"
[ -f "$folder/SHA256SUMS" ] || die "there is no release in $folder; make one first: make release"
(cd "$folder" && sha256sum --quiet --check SHA256SUMS) || die "the release in $folder is not what it was made as; make it again."
command -v skopeo >/dev/null 2>&1 || "$here/../ensureDebian.sh" skopeo
# grep reads to the end: tar fails where nobody takes the rest.
if ! tar -xzOf "$folder"/joypod-*.tgz joypod/values.yaml | grep -F "controlPlane: $REGISTRY/control-plane:" >/dev/null; then
  choosePath
  ensurePrograms helm
  HELM=$(programPath helm) node "$here/repackChart.ts" "$folder" "$REGISTRY"
fi
step "Publishing $folder to $REGISTRY" publish pushAll
