# shellcheck shell=bash
# How long the steps of tools take, and how that is told: what a step took last time is kept in the cache folder, and says how much of it is left.
# On a terminal one line shows all that runs and is updated in place; elsewhere each step says every 20 s that it is alive. With CI set to
# true only beginnings and ends are told. lib.sh sources this.

joypodDurations=${joypodCache:?}/durations
joypodProgress=$joypodCache/progress
# Steps of one run, whichever of its scripts they are in, share one line.
export JOYPOD_RUN=${JOYPOD_RUN:-$$}

isTerminal() { [ -t 2 ] && [ "${CI:-}" != true ]; }

# spoken seconds: a time in words, such as "2 min 5 s".
spoken() {
  local minutes=$(($1 / 60)) seconds=$(($1 % 60))
  if [ "$minutes" -eq 0 ]; then echo "$seconds s"; elif [ "$seconds" -eq 0 ]; then echo "$minutes min"; else echo "$minutes min $seconds s"; fi
}

# expectedSeconds step: what the step took last time, or takes on 2 cores where it never ran; empty when nobody knows.
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

# rememberSeconds step seconds: for the next time.
rememberSeconds() {
  mkdir -p "$joypodDurations" && echo "$2" >"$joypodDurations/.$1.$BASHPID" && mv "$joypodDurations/.$1.$BASHPID" "$joypodDurations/$1"
}

# leftOf expected passed: the words for how much is left.
leftOf() {
  if [ -z "$1" ]; then return 0; fi
  if [ "$2" -lt "$1" ]; then echo ", about $(spoken $(($1 - $2))) left"; else echo ", longer than the $(spoken "$1") of last time"; fi
}

# Shows what runs in one line of the terminal, cut to its width.
drawProgress() {
  local file line='' text
  for file in "$joypodProgress/$JOYPOD_RUN".*; do
    # A file without its process was left by a run that was killed.
    if kill -0 "${file##*.}" 2>/dev/null && read -r text 2>/dev/null <"$file"; then line+="${line:+ · }$text"; fi
  done
  text=$(tput cols 2>/dev/null || echo 80)
  printf '\r\033[K%s' "${line:0:text-1}" >&2
}

# tellProgress worker title expected: until the worker ends, says how long it has run and how much is left.
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
