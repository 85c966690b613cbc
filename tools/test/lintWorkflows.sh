#!/usr/bin/env bash
# lintWorkflows.sh: checks the forge's workflows with actionlint and their shell steps with shellcheck.
set -euo pipefail
cd "$(dirname "$0")/../.."
command -v shellcheck >/dev/null || tools/ensureDebian.sh shellcheck
"$(tools/programs/path.sh actionlint)"
