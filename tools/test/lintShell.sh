#!/usr/bin/env bash
# lintShell.sh: runs shellcheck over every shell script of the repository; what a script sources is checked with it.
set -euo pipefail
cd "$(dirname "$0")/../.."
command -v shellcheck >/dev/null || tools/ensureDebian.sh shellcheck
mapfile -t scripts < <(find tools images games .ci test -type f -perm -u+x -exec grep -lE '^#!/(usr/)?bin/(env )?(ba|da)?sh' {} +)
shellcheck "${scripts[@]}"
# The recipes of the games are sourced by a path that shellcheck cannot know, and take its variables.
shellcheck --exclude=SC1091,SC2034,SC2154 games/packing.sh games/capture.sh games/*/pack.sh games/*/play.sh
