#!/usr/bin/env bash
# prerequisites.sh: the Debian packages that tests run: two browsers, and one of them without windows, Redis, Prometheus with promtool, openssl for certificates, slow clients, a proxy, networks, a compiler for the
# supervisor of games, and the display and sound server of a session.
set -euo pipefail
exec "$(dirname "$0")/../ensureDebian.sh" chromium chromium-headless-shell firefox-esr redis-server prometheus openssl iproute2 iptables shellcheck slowhttptest nginx gcc libc6-dev libseccomp-dev e2fsprogs xvfb pulseaudio pulseaudio-utils python3
