#!/usr/bin/env bash
# schemathesis.sh argument…: runs Schemathesis, which generates requests from an OpenAPI document, in a cached
# Python environment.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"

requirements=$repositoryRoot/tools/openapi/requirements.txt
environment=$joypodCache/python/schemathesis-$(hashOf "$requirements")

install() {
  [ ! -x "$environment/bin/schemathesis" ] || return 0
  rm -rf "$environment.new"
  python3 -m venv "$environment.new"
  "$environment.new/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$requirements"
  rm -rf "$environment"
  mv "$environment.new" "$environment"
}

needCommand python3 "install Python 3.11 or newer with its venv module: Schemathesis, which tests the OpenAPI document, runs in it."
if [ ! -x "$environment/bin/schemathesis" ]; then withLock schemathesis step "Installing Schemathesis" schemathesis install; fi
exec "$environment/bin/python" -m schemathesis.cli "$@"
