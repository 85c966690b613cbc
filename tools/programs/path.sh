#!/usr/bin/env bash
# path.sh name: prints the path of a program, and builds it first when it is not cached.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/programs.sh"

[ $# -eq 1 ] || die "usage: tools/programs/path.sh <name>; the names are in tools/programs/table.txt."
path=$(programPath "$1")
[ -x "$path" ] || "$(dirname "$0")/ensure.sh" "$1"
printf '%s\n' "$path"
