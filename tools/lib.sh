# shellcheck shell=bash
# What every shell script under tools/ shares: the cache folder, progress lines, locks and clear failures. Source it.

repositoryRoot=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
joypodCache=${JOYPOD_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/joypod}
joypodLogs=$joypodCache/logs
mkdir -p "$joypodLogs"
export repositoryRoot joypodCache joypodLogs
# shellcheck source=tools/progress.sh
. "$repositoryRoot/tools/progress.sh"

# say sentence: on a terminal in place of the line that shows what runs.
say() {
  if isTerminal; then printf '\r\033[K%s\n' "$*" >&2; else printf '%s\n' "$*" >&2; fi
}

# die sentence: stops with one sentence that says what to do.
die() {
  say "joypod: $*"
  exit 1
}

# needCommand command sentence: stops with the sentence when the command is not there.
needCommand() {
  command -v "$1" >/dev/null 2>&1 || die "$2"
}

# step title logName command…: runs the command with its output in a log and says how long it takes and how much of that is left. When the
# command fails, prints the tail of the log and its path, and ends the script; an interrupt ends the command, too. Call it as a plain
# statement: behind || or && a shell forgets errexit inside the command, too.
step() {
  local title=$1 name=$2 log=$joypodLogs/$2.log started=$SECONDS code=0 worker ticker expected ownTrap=
  shift 2
  expected=$(expectedSeconds "$name")
  say "$title …${expected:+ (about $(spoken "$expected"))}"
  # The command is in the background, so it does not hear an interrupt from the keyboard. What inBackground has set ends it, too.
  worker='' ticker=''
  if [ -z "$(trap -p INT)" ]; then
    ownTrap=yes
    trap 'endProcess "$worker"; endProcess "$ticker"; say "Interrupted: $title was ended."; exit 130' INT TERM
  fi
  # What the command leaves running must not hold the lock of this run.
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
  say "  $title: FAILED after $(spoken $((SECONDS - started))); the end of $log:"
  tail -n 40 "$log" >&2
  die "$title failed; the whole log is in $log."
}

# withLock name command…: one run at a time; the lock goes with this process. Call it as a plain statement (see step).
withLock() {
  local lock=$joypodCache/locks/$1 descriptor
  shift
  mkdir -p "$joypodCache/locks"
  exec {descriptor}>"$lock"
  if ! flock -n "$descriptor"; then
    say "Waiting for other work that holds $lock …"
    flock -w 3600 "$descriptor" || die "something has held $lock for an hour; end it and try again."
  fi
  lockDescriptor=$descriptor
  "$@"
  exec {descriptor}>&-
  unset lockDescriptor
}

# inBackground command…: runs the command beside the script, which waits for it in awaitBackground.
backgroundProcesses=()
inBackground() {
  # What runs in the background of a script does not hear an interrupt from the keyboard.
  trap 'endBackground; exit 130' INT TERM
  (
    backgroundProcesses=()
    "$@"
  ) &
  backgroundProcesses+=("$!")
}

# awaitBackground: waits for all that runs in the background. When one fails, ends the others and the script.
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

# endProcess id: ends a process of ours and everything that it started.
endProcess() {
  local child children
  children=$(cat "/proc/$1/task/$1/children" 2>/dev/null || true)
  kill "$1" 2>/dev/null || true
  for child in $children; do endProcess "$child"; done
}

# hashOf file-or-folder…: twelve hex digits over names, modes and contents of what is given.
hashOf() {
  local path
  for path in "$@"; do
    [ -e "$path" ] || die "$path is missing, so nothing can be built from it."
    find "$path" -type f -printf '%p %m\n' | LC_ALL=C sort
  done | while IFS= read -r line; do
    # The mode comes last: there may be spaces in the path.
    file=${line% *}
    printf '%s %s ' "${file#"$repositoryRoot"/}" "${line##* }"
    sha256sum <"$file"
  done | sha256sum | cut -c1-12
}
