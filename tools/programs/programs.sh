# shellcheck shell=bash
# Paths of the programs that tools and tests run. In the default mode, kind, kubectl and helm are the
# installed ones if there are any. All other programs are built from pinned Go modules. Source it after
# lib.sh. To use installed programs, also source containers.sh and call useEngine first.

programTable=$repositoryRoot/tools/programs/table.txt
programModules=$repositoryRoot/tools/programs/modules

# moduleSource module: prints the folder of the module's go.mod. The TURN relay is in turn; modules that only
# tests use are in test/support.
moduleSource() {
  if [ "$1" = turn ]; then
    printf '%s/turn\n' "$repositoryRoot"
  elif [ -d "$programModules/$1" ]; then
    printf '%s/%s\n' "$programModules" "$1"
  else
    printf '%s/test/support/%s\n' "$repositoryRoot" "$1"
  fi
}

# requiredVersion module goModule: prints the version of goModule that the module's go.mod pins.
requiredVersion() {
  awk -v of="$2" '($1 == "require" && $2 == of) {print $3} ($1 == of && $2 ~ /^v/) {print $2}' "$(moduleSource "$1")/go.mod" | head -n 1
}

kubernetesVersion=$(requiredVersion cluster k8s.io/kubernetes)
export kubernetesVersion

# programCell program column: prints a cell of the table.
programCell() {
  local cell
  cell=$(awk -v name="$1" -v column="$2" '$1 == name {print $column}' "$programTable")
  [ -n "$cell" ] || die "there is no program $1. The names are in tools/programs/table.txt."
  printf '%s\n' "$cell"
}

# programVersion program: prints the version of its Go module, or a hash of its sources for a Joypod program.
programVersion() {
  local module package of
  module=$(programCell "$1" 2)
  package=$(programCell "$1" 3)
  of=$(programCell "$1" 4)
  if [ "$of" = - ]; then hashOf "$(moduleSource "$module")/${package#./}"; else requiredVersion "$module" "$of"; fi
}

# moduleFolder module: prints the folder for the module's built programs, which may not exist yet. With
# JOYPOD_PROGRAM_ARCHITECTURE, the folder is for that architecture.
moduleFolder() {
  printf '%s/programs/%s-%s%s\n' "$joypodCache" "$1" "$(hashOf "$(moduleSource "$1")")" "${JOYPOD_PROGRAM_ARCHITECTURE:+-$JOYPOD_PROGRAM_ARCHITECTURE}"
}

# builtPath program: prints the path of the program built from its Go module, which may not exist yet.
builtPath() {
  local module
  module=$(programCell "$1" 2)
  printf '%s/%s\n' "$(moduleFolder "$module")" "$1"
}

# isOfMachine program: succeeds if the installed program is used.
isOfMachine() {
  case $1 in
    kind | kubectl | helm) [ "${fromSource:-}" = no ] && command -v "$1" >/dev/null 2>&1 ;;
    *) return 1 ;;
  esac
}

# programPath program: prints the path to run.
programPath() {
  if isOfMachine "$1"; then command -v "$1"; else builtPath "$1"; fi
}

# ensurePrograms program…: builds the programs that are neither installed nor built yet.
ensurePrograms() {
  local program missing=()
  for program in "$@"; do isOfMachine "$program" || missing+=("$program"); done
  if [ "${#missing[@]}" -gt 0 ]; then "$repositoryRoot/tools/programs/build.sh" "${missing[@]}"; fi
}
