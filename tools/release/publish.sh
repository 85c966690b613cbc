#!/usr/bin/env bash
# publish.sh: pushes the images and the chart of RELEASE_FOLDER (default dist/release) to REGISTRY
# (host/path): images as REGISTRY/NAME:VERSION, the chart as REGISTRY/charts/joypod:VERSION. Uses the
# credentials of `docker login` or `skopeo login`, or those in the file REGISTRY_AUTH_FILE. REGISTRY_CERT_DIR
# is a folder with a private CA's certificate (*.crt), if the machine does not trust it. If the chart names
# another registry, it is packed again, which needs the release's git repository.
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
  # The chart comes last, so its images exist once it can be pulled.
  for name in $(node "$here/names.ts" "$folder/oci"); do
    echo "$REGISTRY/$name"
    skopeo --insecure-policy copy --retry-times 3 "${options[@]}" "oci:$folder/oci:$name" "docker://$REGISTRY/$name"
  done
}

PATH=$repositoryRoot/node_modules/.bin:$PATH
folder=${RELEASE_FOLDER:-$repositoryRoot/dist/release}
[ -n "${REGISTRY:-}" ] || die "set REGISTRY to publish a release: make publish REGISTRY=registry.example.com/joypod"
[ -f "$folder/SHA256SUMS" ] || die "there is no release in $folder. Create one: make release"
(cd "$folder" && sha256sum --quiet --check SHA256SUMS) || die "the files in $folder do not match SHA256SUMS. Create the release again: make release"
command -v skopeo >/dev/null 2>&1 || "$here/../ensureDebian.sh" skopeo
# Not grep -q: tar fails if its output is not read to the end.
if ! tar -xzOf "$folder"/joypod-*.tgz joypod/values.yaml | grep -F "controlPlane: $REGISTRY/control-plane:" >/dev/null; then
  choosePath
  ensurePrograms helm
  HELM=$(programPath helm) node "$here/repackChart.ts" "$folder" "$REGISTRY"
fi
step "Publishing $folder to $REGISTRY" publish pushAll
