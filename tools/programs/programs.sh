# shellcheck shell=bash
# Paths of the programs that tools and tests run. On the ordinary path kind, kubectl and helm are those of the machine, where it has
# them; everything else is built from pinned Go modules by tools/programs. Source it after lib.sh and, to have the programs
# of the machine, after containers.sh and useEngine.

programTable=$repositoryRoot/tools/programs/table.txt
programModules=$repositoryRoot/tools/programs/modules

# moduleSource module: the folder of its go.mod. The relay is a program of ours; what tests alone run is among what they share.
moduleSource() {
  if [ "$1" = turn ]; then
    printf '%s/turn\n' "$repositoryRoot"
  elif [ -d "$programModules/$1" ]; then
    printf '%s/%s\n' "$programModules" "$1"
  else
    printf '%s/test/support/%s\n' "$repositoryRoot" "$1"
  fi
}

# requiredVersion module goModule: the version that the go.mod of the folder pins.
requiredVersion() {
  awk -v of="$2" '($1 == "require" && $2 == of) {print $3} ($1 == of && $2 ~ /^v/) {print $2}' "$(moduleSource "$1")/go.mod" | head -n 1
}

kubernetesVersion=$(requiredVersion cluster k8s.io/kubernetes)
export kubernetesVersion

# programCell program column: a cell of the table.
programCell() {
  local cell
  cell=$(awk -v name="$1" -v column="$2" '$1 == name {print $column}' "$programTable")
  [ -n "$cell" ] || die "no program is called $1; the names are in tools/programs/table.txt."
  printf '%s\n' "$cell"
}

# programVersion program: the version of its Go module; a program of ours has the hash of its sources.
programVersion() {
  local module package of
  module=$(programCell "$1" 2)
  package=$(programCell "$1" 3)
  of=$(programCell "$1" 4)
  if [ "$of" = - ]; then hashOf "$(moduleSource "$module")/${package#./}"; else requiredVersion "$module" "$of"; fi
}

# moduleFolder module: where the programs of the module are, or will be once they are built; JOYPOD_PROGRAM_ARCHITECTURE asks for those of
# another architecture than the machine's.
moduleFolder() {
  printf '%s/programs/%s-%s%s\n' "$joypodCache" "$1" "$(hashOf "$(moduleSource "$1")")" "${JOYPOD_PROGRAM_ARCHITECTURE:+-$JOYPOD_PROGRAM_ARCHITECTURE}"
}

# builtPath program: where the program built from its Go module is, or will be.
builtPath() {
  local module
  module=$(programCell "$1" 2)
  printf '%s/%s\n' "$(moduleFolder "$module")" "$1"
}

# isOfMachine program: whether the machine's own program is taken.
isOfMachine() {
  case $1 in
    kind | kubectl | helm) [ "${fromSource:-}" = no ] && command -v "$1" >/dev/null 2>&1 ;;
    *) return 1 ;;
  esac
}

# programPath program: what to run.
programPath() {
  if isOfMachine "$1"; then command -v "$1"; else builtPath "$1"; fi
}

# ensurePrograms program…: builds those that are neither the machine's nor built yet.
ensurePrograms() {
  local program missing=()
  for program in "$@"; do isOfMachine "$program" || missing+=("$program"); done
  if [ "${#missing[@]}" -gt 0 ]; then "$repositoryRoot/tools/programs/build.sh" "${missing[@]}"; fi
}
