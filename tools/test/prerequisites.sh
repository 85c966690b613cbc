#!/usr/bin/env bash
# prerequisites.sh: installs the Debian packages that tests use: browsers, Redis, Prometheus, openssl, network
# tools, slow HTTP clients, nginx, a C compiler for the game supervisor, and a session's display and sound
# server.
set -euo pipefail
exec "$(dirname "$0")/../ensureDebian.sh" chromium chromium-headless-shell firefox-esr redis-server prometheus openssl iproute2 iptables shellcheck slowhttptest nginx gcc libc6-dev libseccomp-dev libsdl2-dev libglfw3-dev libxi-dev e2fsprogs xvfb pulseaudio pulseaudio-utils python3
