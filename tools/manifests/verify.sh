#!/usr/bin/env bash
# verify.sh: fails when a generated file is not what the generators make of the sources; the new files stay, to be committed.
set -euo pipefail
cd "$(dirname "$0")/../.."
generated=(crds charts/joypod/files docs/crd)
before=$(mktemp -d)
trap 'rm -rf "$before"' EXIT
cp -r --parents "${generated[@]}" "$before"
npm run --silent manifests
for path in "${generated[@]}"; do
  if ! diff -ru "$before/$path" "$path"; then
    echo "Generated files are out of date: they were made anew; look at them and commit them (make manifests)." >&2
    exit 1
  fi
done
