#!/usr/bin/env bash
# prerequisites.sh: the Debian packages that tests run: two browsers, Redis, openssl for certificates, slow clients.
set -euo pipefail
exec "$(dirname "$0")/../ensureDebian.sh" chromium firefox-esr redis-server openssl shellcheck slowhttptest
