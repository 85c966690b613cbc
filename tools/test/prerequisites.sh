#!/usr/bin/env bash
# prerequisites.sh: the Debian packages that tests run: a browser for e2e, Redis, and what the streamer uses.
set -euo pipefail
exec "$(dirname "$0")/../ensureDebian.sh" chromium redis-server shellcheck
