#!/usr/bin/env bash
# prerequisites.sh: the Debian packages that tests run: a browser, Redis, openssl for certificates.
set -euo pipefail
exec "$(dirname "$0")/../ensureDebian.sh" chromium redis-server openssl shellcheck
