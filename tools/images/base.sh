#!/usr/bin/env bash
# base.sh suite…: makes docker.io/library/debian:<suite>-slim available to builds: pulled where the public registry answers,
# else made from the suite's packages with mmdebstrap.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../containers.sh"

bootstrap() {
  local suite=$1 context=$2
  mmdebstrap --variant=minbase --include=ca-certificates --aptopt='Acquire::Retries "3"' \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/info/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' \
    "$suite" "$context/base.tar"
  printf 'FROM scratch\nADD base.tar /\nCMD ["/bin/bash"]\n' >"$context/Dockerfile"
  buildah bud --layers=false -t "docker.io/library/debian:$suite-slim" "$context"
}

pull() { timeout 120 "$containerEngine" pull --quiet "docker.io/library/debian:$1-slim"; }

ensureBase() {
  local suite=$1 context
  if imageExists "docker.io/library/debian:$suite-slim"; then return 0; fi
  if pull "$suite" >/dev/null 2>&1; then return 0; fi
  [ "$containerEngine" = podman ] || die "debian:$suite-slim could not be pulled; check that Docker reaches its registry."
  rm -rf "$joypodCache/contexts/base-$suite".*
  mkdir -p "$joypodCache/contexts"
  context=$(mktemp -d "$joypodCache/contexts/base-$suite.XXXXXX")
  step "Making debian:$suite-slim from Debian packages" "base-$suite" bootstrap "$suite" "$context"
  rm -rf "$context"
}

useEngine "${JOYPOD_ENGINE:-}"
for suite in "$@"; do withLock "base-$suite" ensureBase "$suite"; done
