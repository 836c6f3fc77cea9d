#!/bin/bash
# The first process of process-watcher's container. It outlives the watcher (docker-compose.yml, deploy/kubernetes):
#
#   watcher-init.sh node dist/process-watcher.js
#
# The supervisor and its commands go on when the watcher dies (docs/adr/0007), but not when pid 1 dies. So this script is
# pid 1 and restarts the watcher. It is bash because bash reaps every orphan (Node as pid 1 reaps only its own children, and
# daemons of commands would stay as zombies), and because the image has it.
#
#   the watcher ends before its first answer --> exit with its code: nothing runs yet, and the container shows a broken config
#   it ends later (crash, SIGHUP to us), or does not answer for a minute (SIGKILL) --> restart it
#   SIGTERM, SIGINT --> SIGTERM to the watcher, which drains; exit with its code, which ends everything in the container
set -u

port=${ANGELIA_ADMIN_PORT:-9464}
# How often to ask /healthz, and how long its answer may take. Four missing answers take a minute.
look_seconds=${ANGELIA_INIT_LOOK_SECONDS:-10}
answer_seconds=${ANGELIA_INIT_ANSWER_SECONDS:-5}
deaf_limit=4
# The back-off for a watcher that dies at once, as in the launcher of the local stack.
first_pause=0.2
longest_pause=10

watcher=''
stopping=''
was_well=''
pause=$first_pause

say() { printf '{"level":"%s","service":"watcher-init","msg":"%s"}\n' "$1" "$2"; }
end_watcher() { if [[ -n $watcher ]]; then kill -TERM "$watcher" 2>/dev/null; fi; }
trap 'stopping=yes; end_watcher' TERM INT
trap 'say info "SIGHUP: restarting the watcher only"; end_watcher' HUP

# In a subshell, so that a failed connection ends nothing else.
answers() (
  exec 3<>"/dev/tcp/127.0.0.1/$port" || exit 1
  printf 'GET /healthz HTTP/1.0\r\n\r\n' >&3
  IFS= read -r -t "$answer_seconds" status <&3 && [[ $status == *' 200 '* ]]
) 2>/dev/null

# A signal ends it early. The caller then checks again.
rest() {
  sleep "$1" &
  local timer=$!
  wait -n "$timer" ${watcher:+"$watcher"} 2>/dev/null
  kill "$timer" 2>/dev/null
}

while :; do
  "$@" &
  watcher=$!
  # The signal may have come before the watcher started.
  if [[ -n $stopping ]]; then end_watcher; fi
  answered=''
  deaf=0
  while kill -0 "$watcher" 2>/dev/null; do
    rest "$look_seconds"
    kill -0 "$watcher" 2>/dev/null || break
    if answers; then
      [[ -n $answered ]] || say info "the watcher answers"
      answered=yes was_well=yes deaf=0 pause=$first_pause
    elif [[ -n $answered ]] && ((++deaf >= deaf_limit)); then
      say error "the watcher does not answer: killed, will be restarted"
      kill -KILL "$watcher" 2>/dev/null
    fi
  done
  wait "$watcher"
  code=$?
  watcher=''
  if [[ -n $stopping || -z $was_well ]]; then exit "$code"; fi
  say warn "the watcher ended (exit code $code); restarting it in $pause s; commands go on"
  rest "$pause"
  if [[ -n $stopping ]]; then exit "$code"; fi
  case $pause in
    0.2) pause=1 ;;
    1) pause=3 ;;
    *) pause=$longest_pause ;;
  esac
done
