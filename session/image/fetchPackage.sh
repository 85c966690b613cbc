#!/bin/sh
# fetchPackage NAME VERSION SHA512 FOLDER: unpacks an npm package there, before there is any npm. Used while building only.
# Build secrets: npmrc (the registry, with its token where it wants one), ca (certificates to trust).
set -eu
npmrc=/run/secrets/npmrc
registry=$(sed -n 's/^registry *= *//p' $npmrc | tail -n 1)
registry=${registry%/}
if [ -z "$registry" ]; then
  echo "The build secret npmrc names no registry; build with tools/images/build.sh, or give it a line registry=…" >&2
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
  echo "$name $version of $registry has another checksum than the pinned one." >&2
  exit 1
fi
mkdir -p "$folder"
tar xzf "$archive" -C "$folder" --strip-components=1
rm "$archive"
