#!/usr/bin/env bash
# typedClient.sh document folder: generates a typed client for an OpenAPI document with openapi-ts, whose npm
# packages are cached.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"

source=$repositoryRoot/tools/openapi/client
environment=$joypodCache/npm/openapi-client-$(hashOf "$source/package.json" "$source/package-lock.json")
generator=node_modules/@hey-api/openapi-ts/bin/run.js

install() {
  [ ! -e "$environment/$generator" ] || return 0
  rm -rf "$environment.new"
  mkdir -p "$environment.new"
  cp "$source/package.json" "$source/package-lock.json" "$environment.new/"
  (cd "$environment.new" && npm ci --ignore-scripts --no-audit --no-fund --no-update-notifier)
  rm -rf "$environment"
  mv "$environment.new" "$environment"
}

[ $# -eq 2 ] || die "give typedClient.sh an OpenAPI document and the folder that the client is to be written to."
PATH=$repositoryRoot/node_modules/.bin:$PATH
needCommand npm "npm is missing; install it with Node.js: the generator of the typed client is an npm package."
if [ ! -e "$environment/$generator" ]; then withLock openapi-client step "Installing openapi-ts" openapi-client install; fi
export OPENAPI_DOCUMENT=$1 OPENAPI_CLIENT=$2
exec node "$environment/$generator" --file "$source/openapi-ts.config.mjs" --no-log-file
