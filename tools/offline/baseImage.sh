#!/usr/bin/env bash
# baseImage.sh suite: builds docker.io/library/debian:<suite>-slim from Debian packages with mmdebstrap if it
# is missing.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/../containers.sh"

bootstrap() {
  local context=$1
  mmdebstrap --variant=minbase --include=ca-certificates --aptopt='Acquire::Retries "3"' --aptopt='Acquire::Languages "none"' \
    --dpkgopt=force-unsafe-io \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/info/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' \
    "$suite" "$context/base.tar"
  printf 'FROM scratch\nADD base.tar /\nCMD ["/bin/bash"]\n' >"$context/Dockerfile"
  buildah bud --layers=false -t "$reference" "$context"
}

ensureBase() {
  local context
  if imageExists "$reference"; then return 0; fi
  rm -rf "$joypodCache/contexts/base-$suite".*
  mkdir -p "$joypodCache/contexts"
  context=$(mktemp -d "$joypodCache/contexts/base-$suite.XXXXXX")
  step "Building debian:$suite-slim from Debian packages" "base-$suite" bootstrap "$context"
  rm -rf "$context"
}

suite=$1
reference=docker.io/library/debian:$suite-slim
JOYPOD_FROM_SOURCE=yes useEngine podman
if ! imageExists "$reference"; then withLock "base-$suite" ensureBase; fi
