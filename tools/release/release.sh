#!/usr/bin/env bash
# release.sh: writes the release of package.json's version into RELEASE_FOLDER (default dist/release): images and chart as an OCI layout, the
# chart's archive, the command lines, bills of materials, notices, changelog, checksums. VERSION, where it is set, must be that version.
# With REGISTRY (host/path) the chart names its images there, and publish.sh puts all of it there.
# RELEASE_ARCHITECTURES (default "amd64 arm64") says for what.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
unset JOYPOD_KUBE_CONTEXT
. "$here/../lib.sh"
. "$here/../containers.sh"
. "$here/../programs/programs.sh"
. "$here/../cluster/cluster.sh"

# Images of which no program runs while they are built.
portable=(controlPlane minio turn)

machineArchitecture() {
  case $(uname -m) in
    x86_64) echo amd64 ;;
    aarch64 | arm64) echo arm64 ;;
    *) die "images are built on amd64 and arm64 machines only." ;;
  esac
}

buildImages() {
  local architecture values=()
  for architecture in $architectures; do
    mapfile -t values < <(awk '$1 !~ /^#/ && NF {print $1}' "$here/../images/table.txt")
    if [ "$architecture" = "$(machineArchitecture)" ]; then
      "$here/../images/build.sh" "${values[@]}" >"$work/$architecture.yaml"
    else
      JOYPOD_PROGRAM_ARCHITECTURE=$architecture "$here/../images/build.sh" "${portable[@]}" >"$work/$architecture.yaml"
    fi
  done
}

# write: everything but the pushing, into a folder that takes its place when it is whole.
write() {
  local architecture images=()
  for architecture in $architectures; do images+=("$architecture=$work/$architecture.yaml"); done
  env RELEASE_FOLDER="$work/release" RELEASE_REPOSITORY="${REGISTRY:-joypod}" RELEASE_IMAGES="${images[*]}" \
    RELEASE_PROGRAMS="minio=$(builtPath minio) turn=$(builtPath turn)" ENGINE="$containerEngine" HELM="$(programPath helm)" CACHE="$joypodCache" \
    node "$here/main.ts"
  rm -rf "$folder"
  mkdir -p "$(dirname "$folder")"
  mv "$work/release" "$folder"
  # What no release of the last two weeks had.
  find "$joypodCache/release" -maxdepth 2 -type f -mtime +14 -delete
}

PATH=$repositoryRoot/node_modules/.bin:$PATH
version=$(node -p 'require(process.argv[1]).version' "$repositoryRoot/package.json")
architectures=${RELEASE_ARCHITECTURES:-amd64 arm64}
folder=${RELEASE_FOLDER:-$repositoryRoot/dist/release}
if [ "${VERSION:-$version}" != "$version" ]; then
  die "package.json says version $version; write $VERSION everywhere with \`node tools/release/setVersion.ts $VERSION\`, commit it, and release that."
fi
# What is there is replaced: it has to be a release.
if [ -n "$(ls -A "$folder" 2>/dev/null)" ] && [ ! -f "$folder/SHA256SUMS" ]; then
  die "RELEASE_FOLDER $folder holds something that is no release, and would be replaced: name another folder, or empty it."
fi
useEngineOfImages
keepPath
mkdir -p "$joypodCache/release"
work=$(mktemp -d "$joypodCache/release/new.XXXXXX")
trap 'rm -rf "$work"' EXIT
make --silent -C "$repositoryRoot" built
ensurePrograms helm minio turn
"$here/../supplyChain/sbom.sh" >/dev/null
buildImages
step "Writing the release $version into $folder" release write
if [ -n "${REGISTRY:-}" ]; then "$here/publish.sh"; fi
say "Released $version into $folder:"
ls "$folder"
