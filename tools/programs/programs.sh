# shellcheck shell=bash
# Names, versions and paths of the programs built from pinned Go modules. Source it after lib.sh.

programTable=$repositoryRoot/tools/programs/table.txt
programModules=$repositoryRoot/tools/programs/modules
kubernetesVersion=$(awk '$1 == "require" && $2 == "k8s.io/kubernetes" {print $3} $1 == "k8s.io/kubernetes" && $2 ~ /^v/ {print $2}' "$programModules/kubernetes/go.mod" | head -n 1)
export kubernetesVersion

# programField name column: a cell of the table.
programField() {
  local cell
  cell=$(awk -v name="$1" -v column="$2" '$1 == name {print $column}' "$programTable")
  [ -n "$cell" ] || die "no program is called $1; the names are in tools/programs/table.txt."
  printf '%s\n' "$cell"
}

# programVersion name: the version pinned in the go.mod of its folder; a program of ours is versioned by its content.
programVersion() {
  local module of
  module=$programModules/$(programField "$1" 2)
  of=$(programField "$1" 4)
  if [ "$of" = - ]; then
    hashOf "$module"
  else
    awk -v of="$of" '($1 == "require" && $2 == of) {print $3} ($1 == of && $2 ~ /^v/) {print $2}' "$module/go.mod" | head -n 1
  fi
}

# programPath name: where the program is, or will be once it is built.
programPath() {
  local version
  version=$(programVersion "$1")
  [ -n "$version" ] || die "tools/programs/modules has no pinned version of $1."
  printf '%s/programs/%s-%s/%s\n' "$joypodCache" "$1" "$version" "$1"
}
