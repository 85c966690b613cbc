#!/usr/bin/env bash
# verify.sh: regenerates all generated files and fails if any was stale. The new files are left to be committed.
set -euo pipefail
cd "$(dirname "$0")/../.."
generated=(crds charts/joypod/files docs/crd)
before=$(mktemp -d)
trap 'rm -rf "$before"' EXIT
cp -r --parents "${generated[@]}" "$before"
npm run --silent manifests
for path in "${generated[@]}"; do
  if ! diff -ru "$before/$path" "$path"; then
    echo "Generated files were stale and have been regenerated. Review and commit them (make manifests)." >&2
    exit 1
  fi
done
