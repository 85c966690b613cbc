#!/usr/bin/env bash
# sbom.sh: writes CycloneDX documents of the npm packages that the images install to dist/sbom, one for each
# lock file, and prints their paths.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"

target=$repositoryRoot/dist/sbom

# document folder name: writes the document of one lock file. npm names it after the folder that it runs in.
document() {
  mkdir "$work/$2"
  node "$repositoryRoot/tools/supplyChain/productionLock.mjs" "$repositoryRoot/$1" "$work/$2"
  (cd "$work/$2" && npm sbom --package-lock-only --sbom-format=cyclonedx --sbom-type=application) >"$work/$2.cdx.json"
  mv "$work/$2.cdx.json" "$target/"
  printf '%s\n' "$target/$2.cdx.json"
}

needCommand npm "npm is missing. Install Node.js 20 or later with npm."
mkdir -p "$target"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
document . control-plane
document session/image streamer
