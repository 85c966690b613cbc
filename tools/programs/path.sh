#!/usr/bin/env bash
# path.sh program: prints the path of a program at its pinned version. Builds it if it is not cached. Used by
# tests.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/programs.sh"

[ $# -eq 1 ] || die "usage: tools/programs/path.sh <program>; the names are in tools/programs/table.txt."
path=$(builtPath "$1")
[ -x "$path" ] || "$repositoryRoot/tools/programs/build.sh" "$1"
printf '%s\n' "$path"
