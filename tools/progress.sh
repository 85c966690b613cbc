# shellcheck shell=bash
# Progress and estimates of steps. The duration of each step's last run is kept in the cache folder and used
# as the estimate. On a terminal, one line shows all running steps and is updated in place. Otherwise each
# step prints a line every 20 s. With CI=true, only the start and the end of a step are printed. Sourced by
# lib.sh.

joypodDurations=${joypodCache:?}/durations
joypodProgress=$joypodCache/progress
# All steps of a run share one progress line, even across scripts.
export JOYPOD_RUN=${JOYPOD_RUN:-$$}

isTerminal() { [ -t 2 ] && [ "${CI:-}" != true ]; }

# spoken seconds: prints a duration in words, such as "2 min 5 s".
spoken() {
  local minutes=$(($1 / 60)) seconds=$(($1 % 60))
  if [ "$minutes" -eq 0 ]; then echo "$seconds s"; elif [ "$seconds" -eq 0 ]; then echo "$minutes min"; else echo "$minutes min $seconds s"; fi
}

# expectedSeconds step: prints how long the step took last time. If it never ran here, prints how long it
# takes on 2 cores, or nothing if unknown.
expectedSeconds() {
  local kept
  if read -r kept 2>/dev/null <"$joypodDurations/$1" && [[ $kept =~ ^[0-9]+$ ]]; then
    echo "$kept"
    return 0
  fi
  case $1 in
    cluster-*) echo 60 ;;
    release-* | resume-*) echo 45 ;;
    node-packages | node-image) echo 90 ;;
    image-* | base-* | npm-ci | debian) echo 60 ;;
    programs-*) echo 150 ;;
    load-*) echo 15 ;;
    picture-*) echo 40 ;;
    game-*) echo 45 ;;
  esac
}

# rememberSeconds step seconds: stores the duration as the estimate for the next run.
rememberSeconds() {
  mkdir -p "$joypodDurations" && echo "$2" >"$joypodDurations/.$1.$BASHPID" && mv "$joypodDurations/.$1.$BASHPID" "$joypodDurations/$1"
}

# leftOf expected passed: prints how much time is left, to append to a progress line.
leftOf() {
  if [ -z "$1" ]; then return 0; fi
  if [ "$2" -lt "$1" ]; then echo ", about $(spoken $(($1 - $2))) left"; else echo ", longer than last time ($(spoken "$1"))"; fi
}

# Shows all running steps in one line, cut to the width of the terminal.
drawProgress() {
  local file line='' text
  for file in "$joypodProgress/$JOYPOD_RUN".*; do
    # If the process no longer exists, a killed run left the file.
    if kill -0 "${file##*.}" 2>/dev/null && read -r text 2>/dev/null <"$file"; then line+="${line:+ · }$text"; fi
  done
  text=$(tput cols 2>/dev/null || echo 80)
  printf '\r\033[K%s' "${line:0:text-1}" >&2
}

# tellProgress worker title expected: shows the elapsed and the remaining time until the worker ends.
tellProgress() {
  local worker=$1 title=$2 expected=$3 started=$SECONDS passed file
  if [ "${CI:-}" = true ]; then return 0; fi
  mkdir -p "$joypodProgress"
  file=$joypodProgress/$JOYPOD_RUN.$worker
  trap 'rm -f "$file"; kill "$!" 2>/dev/null; exit' TERM
  while kill -0 "$worker" 2>/dev/null; do
    if isTerminal; then sleep 1 2>/dev/null & else sleep 20 2>/dev/null & fi
    wait "$!"
    passed=$((SECONDS - started))
    if isTerminal; then
      echo "$title: $(spoken "$passed")$(leftOf "$expected" "$passed")" >"$file"
      drawProgress
    else
      say "  $title: $(spoken "$passed")$(leftOf "$expected" "$passed")"
    fi
  done
  rm -f "$file"
}
