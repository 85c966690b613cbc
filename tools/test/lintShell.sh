#!/usr/bin/env bash
# lintShell.sh: runs shellcheck on every shell script of the repository and on the files that scripts source.
set -euo pipefail
cd "$(dirname "$0")/../.."
command -v shellcheck >/dev/null || tools/ensureDebian.sh shellcheck
mapfile -t scripts < <(find tools images games .ci test -type f -perm -u+x -exec grep -lE '^#!/(usr/)?bin/(env )?(ba|da)?sh' {} +)
shellcheck "${scripts[@]}"
# Game recipes are sourced through a path that shellcheck cannot resolve, and receive variables from there.
shellcheck --exclude=SC1091,SC2034,SC2154 games/packing.sh games/capture.sh games/*/pack.sh games/*/play.sh
