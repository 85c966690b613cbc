#!/usr/bin/env bash
# release.sh: writes a release of package.json's version to RELEASE_FOLDER (default dist/release): images and
# chart as an OCI layout, the chart's archive, command lines, bills of materials, notices, changelog and
# checksums. VERSION, if set, must be that version. With REGISTRY (host/path), the chart names its images
# there and publish.sh pushes the release. RELEASE_ARCHITECTURES (default "amd64 arm64") lists the
# architectures.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
unset JOYPOD_KUBE_CONTEXT
. "$here/../lib.sh"
. "$here/../containers.sh"
. "$here/../programs/programs.sh"
. "$here/../cluster/cluster.sh"

# Images whose build runs none of their programs, so they can be built for another architecture.
portable=(controlPlane minio turn)

machineArchitecture() {
  case $(uname -m) in
    x86_64) echo amd64 ;;
    aarch64 | arm64) echo arm64 ;;
    *) die "images can be built only on amd64 and arm64 machines." ;;
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

# write: writes the release to a temporary folder, and moves it into place once it is complete.
write() {
  local architecture images=()
  for architecture in $architectures; do images+=("$architecture=$work/$architecture.yaml"); done
  env RELEASE_FOLDER="$work/release" RELEASE_REPOSITORY="${REGISTRY:-joypod}" RELEASE_IMAGES="${images[*]}" \
    RELEASE_PROGRAMS="minio=$(builtPath minio) turn=$(builtPath turn)" ENGINE="$containerEngine" HELM="$(programPath helm)" CACHE="$joypodCache" \
    node "$here/main.ts"
  rm -rf "$folder"
  mkdir -p "$(dirname "$folder")"
  mv "$work/release" "$folder"
  # Cached layers that no release of the last two weeks used.
  find "$joypodCache/release" -maxdepth 2 -type f -mtime +14 -delete
}

PATH=$repositoryRoot/node_modules/.bin:$PATH
version=$(node -p 'require(process.argv[1]).version' "$repositoryRoot/package.json")
architectures=${RELEASE_ARCHITECTURES:-amd64 arm64}
folder=${RELEASE_FOLDER:-$repositoryRoot/dist/release}
if [ "${VERSION:-$version}" != "$version" ]; then
  die "package.json has version $version, not $VERSION. Run \`node tools/release/setVersion.ts $VERSION\`, commit the change, and try again."
fi
# The folder is replaced, so it must be empty or a release.
if [ -n "$(ls -A "$folder" 2>/dev/null)" ] && [ ! -f "$folder/SHA256SUMS" ]; then
  die "RELEASE_FOLDER $folder is not a release, so it is not replaced. Set another folder, or empty this one."
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
