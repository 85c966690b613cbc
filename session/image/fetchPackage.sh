#!/bin/sh
# fetchPackage NAME VERSION SHA512 FOLDER: unpacks an npm package into the folder without needing npm. Used only during the build.
# Build secrets: npmrc (the registry and, if needed, its token), ca (certificates to trust).
set -eu
npmrc=/run/secrets/npmrc
registry=$(sed -n 's/^registry *= *//p' $npmrc | tail -n 1)
registry=${registry%/}
if [ -z "$registry" ]; then
  echo "The build secret npmrc names no registry. Build with tools/images/build.sh, or add a line registry=…" >&2
  exit 1
fi
token=$(grep -F "//${registry#*//}/:_authToken" $npmrc | sed 's/^[^=]*= *//' | head -n 1) || token=''
if [ -s /run/secrets/ca ]; then export CURL_CA_BUNDLE=/run/secrets/ca; fi

archive=$(mktemp)
set -- "$1" "$2" "$3" "$4" -fsSL --retry 3 --max-time 300 -o "$archive"
name=$1 version=$2 checksum=$3 folder=$4
shift 4
if [ -n "$token" ]; then set -- "$@" -H "Authorization: Bearer $token"; fi
curl "$@" "$registry/$name/-/$name-$version.tgz"
if [ "$(openssl dgst -sha512 -binary "$archive" | base64 -w0)" != "$checksum" ]; then
  echo "$name $version from $registry does not have the pinned checksum." >&2
  exit 1
fi
mkdir -p "$folder"
tar xzf "$archive" -C "$folder" --strip-components=1
rm "$archive"
