# shellcheck shell=bash
# Shared by all shell scripts under tools/: the cache folder, progress lines, locks and error messages. Source
# it.

repositoryRoot=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
joypodCache=${JOYPOD_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/joypod}
joypodLogs=$joypodCache/logs
mkdir -p "$joypodLogs"
export repositoryRoot joypodCache joypodLogs
# shellcheck source=tools/progress.sh
. "$repositoryRoot/tools/progress.sh"

# say sentence: prints the sentence to standard error. On a terminal it replaces the progress line.
say() {
  if isTerminal; then printf '\r\033[K%s\n' "$*" >&2; else printf '%s\n' "$*" >&2; fi
}

# die sentence: prints the sentence, which should tell the user what to do, and exits with 1.
die() {
  say "joypod: $*"
  exit 1
}

# needCommand command sentence: exits with the sentence if the command is not installed.
needCommand() {
  command -v "$1" >/dev/null 2>&1 || die "$2"
}

# step title logName command…: runs the command with its output in a log file, and shows the elapsed and the
# remaining time. If the command fails, prints the end of the log and its path, and exits. An interrupt also
# ends the command. Call it as a plain statement: after || or &&, the shell ignores errexit inside the
# command.
step() {
  local title=$1 name=$2 log=$joypodLogs/$2.log started=$SECONDS code=0 worker ticker expected ownTrap=
  shift 2
  expected=$(expectedSeconds "$name")
  say "$title …${expected:+ (about $(spoken "$expected"))}"
  # A background command does not receive keyboard interrupts, so this trap ends it. Inside inBackground, the
  # trap that inBackground has set does so.
  worker='' ticker=''
  if [ -z "$(trap -p INT)" ]; then
    ownTrap=yes
    trap 'endProcess "$worker"; endProcess "$ticker"; say "Interrupted: $title was ended."; exit 130' INT TERM
  fi
  # Processes that the command leaves running must not keep this run's lock.
  (
    trap - INT TERM
    if [ -n "${lockDescriptor:-}" ]; then exec {lockDescriptor}>&-; fi
    "$@"
  ) >"$log" 2>&1 </dev/null &
  worker=$!
  (
    if [ -n "${lockDescriptor:-}" ]; then exec {lockDescriptor}>&-; fi
    tellProgress "$worker" "$title" "$expected"
  ) >/dev/null &
  ticker=$!
  wait "$worker" || code=$?
  if [ -n "$ownTrap" ]; then trap - INT TERM; fi
  kill "$ticker" 2>/dev/null || true
  wait "$ticker" 2>/dev/null || true
  if [ "$code" -eq 0 ]; then
    rememberSeconds "$name" $((SECONDS - started))
    say "  $title: done in $(spoken $((SECONDS - started)))"
    return 0
  fi
  say "  $title: FAILED after $(spoken $((SECONDS - started))). End of $log:"
  tail -n 40 "$log" >&2
  die "$title failed. The full log is in $log."
}

# withLock name command…: runs the command while holding the named lock, which is released if this process
# ends. Call it as a plain statement (see step).
withLock() {
  local lock=$joypodCache/locks/$1 descriptor
  shift
  mkdir -p "$joypodCache/locks"
  exec {descriptor}>"$lock"
  if ! flock -n "$descriptor"; then
    say "Waiting for another process that holds $lock …"
    flock -w 3600 "$descriptor" || die "another process has held $lock for an hour. End it and try again."
  fi
  lockDescriptor=$descriptor
  "$@"
  exec {descriptor}>&-
  unset lockDescriptor
}

# inBackground command…: starts the command in the background. awaitBackground waits for it.
backgroundProcesses=()
inBackground() {
  # Background processes of a script do not receive keyboard interrupts.
  trap 'endBackground; exit 130' INT TERM
  (
    backgroundProcesses=()
    "$@"
  ) &
  backgroundProcesses+=("$!")
}

# awaitBackground: waits for all background commands. If one fails, ends the others and exits.
awaitBackground() {
  local _
  for _ in "${backgroundProcesses[@]}"; do
    if ! wait -n; then
      endBackground
      exit 1
    fi
  done
  backgroundProcesses=()
  trap - INT TERM
}

endBackground() {
  local process
  for process in "${backgroundProcesses[@]}"; do endProcess "$process"; done
}

# endProcess id: ends a process that we started, and all its descendants.
endProcess() {
  local child children
  children=$(cat "/proc/$1/task/$1/children" 2>/dev/null || true)
  kill "$1" 2>/dev/null || true
  for child in $children; do endProcess "$child"; done
}

# hashOf file-or-folder…: prints 12 hex digits of a hash over the names, modes and contents of the files.
hashOf() {
  local path
  for path in "$@"; do
    [ -e "$path" ] || die "$path is missing, but the build needs it."
    find "$path" -type f -printf '%p %m\n' | LC_ALL=C sort
  done | while IFS= read -r line; do
    # The mode comes last: there may be spaces in the path.
    file=${line% *}
    printf '%s %s ' "${file#"$repositoryRoot"/}" "${line##* }"
    sha256sum <"$file"
  done | sha256sum | cut -c1-12
}
