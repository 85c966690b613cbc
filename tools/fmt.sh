#!/usr/bin/env bash
# fmt.sh [--check]: formats every source file. With --check it changes nothing and fails when a file is not
# formatted. TypeScript, JavaScript, JSON, CSS, HTML, YAML and Markdown: oxfmt. Go: gofmt. C: clang-format.
# Shell: shfmt.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
cd "$repositoryRoot"
PATH=$repositoryRoot/node_modules/.bin:$PATH

sources() { git ls-files --cached --others --exclude-standard -- "$@" | while read -r file; do if [ -f "$file" ]; then printf '%s\n' "$file"; fi; done; }

mapfile -t goFiles < <(sources '*.go')
mapfile -t cFiles < <(sources '*.c' '*.h')
shfmt=$(tools/programs/path.sh shfmt)
mapfile -t shellFiles < <(sources tools images games test .ci kubectl api | xargs "$shfmt" --find)

if [ "${1:-}" != --check ]; then
  oxfmt .
  gofmt -w "${goFiles[@]}"
  clang-format -i "${cFiles[@]}"
  "$shfmt" --indent 2 --case-indent --write "${shellFiles[@]}"
  exit 0
fi

code=0
oxfmt --check . || code=1
unformatted=$(gofmt -l "${goFiles[@]}")
if [ -n "$unformatted" ]; then
  printf '%s\n' "$unformatted"
  code=1
fi
clang-format --dry-run -Werror "${cFiles[@]}" || code=1
"$shfmt" --indent 2 --case-indent --diff "${shellFiles[@]}" || code=1
if [ "$code" -ne 0 ]; then die "some files are not formatted; run make fmt."; fi
