# Sourced by check.sh: with another config, process-watcher runs the commands of a model. Each session has its own user, and
# commands survive a restart of process-watcher.

export ANGELIA_CONFIG_FILE=./tests/compose/angelia.yaml ANGELIA_CONFIG_ENV_FILE=$scratch/config.env ANGELIA_COMMANDS_ENV_FILE=$scratch/commands.env
echo 'CHECK_MODEL_KEY=key-of-the-model' >"$scratch/config.env"
echo 'CHECK_COMMAND_TOKEN=value-of-commands' >"$scratch/commands.env"
cat "$scratch/commands.env" >>"$scratch/config.env"
compose_files+=(-f tests/compose/with-model.yml)
quietly 'up with a config of our own' up -d
all_healthy "${services[@]}"
until_holds 'ingress is ready' answers "$ingress/readyz"
all_ready process-watcher
held 'up -d took a config and variables of our own'

session demo 'a program'
# The value of a variable with the name of a secret is not delivered.
grep -qE 'a program</untrusted-[a-z0-9]+> said to user 2[0-4][0-9]{4}, \[redacted\]' <<<"$(transcript "$session_id")" || fail "the program's answer: $(transcript "$session_id")"
held 'an agent of kind command ran as a user of its session'

# run <arguments of terminal as JSON>: a session whose model calls `terminal` with them.
run() { session run "$1"; }

# The results of the tool, without the prompts.
heard() { transcript "$1" | sed -n '/"content":"heard: /,$p' | sed '1s/.*"content":"heard: //'; }

# What a command can see of itself and of the service.
run '{"command":"id -u; id -G; grep -E \"^(CapEff|CapBnd|NoNewPrivs)\" /proc/self/status; pwd; : >/x; : >here && echo wrote here; env; cat /proc/1/environ /proc/[0-9]*/environ 2>/dev/null | tr \"\\0\" \"\\n\" | grep -E \"DATABASE_URL|NATS_URL\"; echo done"}'
found=$(heard "$session_id")
for wanted in '2[0-4][0-9]{4}' 'CapEff:.*0000000000000000' 'NoNewPrivs:.*1' "/var/lib/angelia/processes/$session_id/work" 'wrote here' "ANGELIA_SESSION_ID=$session_id"; do
  grep -qE "$wanted" <<<"$found" || fail "a command does not find $wanted: $found"
done
if grep -E '^(DATABASE_URL|NATS_URL|ANGELIA_NATS_TOKEN|CHECK_MODEL_KEY)=' <<<"$found"; then fail 'a command sees a secret of the services'; fi
if inside process-watcher 'tr "\0" "\n" </proc/1/environ' | grep -E '^(CHECK_MODEL_KEY|ANGELIA_MASTER_KEY|ANGELIA_ADMIN_TOKEN|ANGELIA_DEMO_SECRET)='; then
  fail 'process-watcher was given a secret that it does not need'
fi
held 'a command runs as its own user, without capabilities, in its own directory, and sees no secret'

# It reaches only Postgres and NATS, which need a password. It cannot read the config, whatever the mode of the file is.
run '{"command":"for to in postgres/5432 nats/4222 nats/8222 jaeger/16686 jaeger/4318 ingress/'"$ANGELIA_PORT"' ingress/9464 delivery/9464 model/8000; do timeout 5 bash -c \": <>/dev/tcp/$to\" 2>/dev/null && echo reached $to; done; cat /etc/angelia/angelia.yaml && echo read the config; echo looked"}'
found=$(heard "$session_id")
grep -q looked <<<"$found" || fail "a command that looks around said: $found"
[ "$(grep -o 'reached [a-z]*/[0-9]*' <<<"$found" | sort -u | paste -sd ' ' -)" = 'reached nats/4222 reached postgres/5432' ] || fail "a command reaches: $found"
if grep -q 'read the config' <<<"$found"; then fail 'a command can read the config'; fi
held 'a command reaches the ports of Postgres and of NATS for clients and no other service, and cannot read the config'

programs() { inside process-watcher 'for p in /proc/[0-9]*/cmdline; do tr "\0" " " <$p 2>/dev/null; echo; done'; }
runs() { grep -q "^$1" <<<"$(programs)"; }
gone() { ! runs "$1"; }
# A daemon has left the command's process group. Its environment identifies it, which root reads as the session's user.
run '{"command":"setsid sleep 1111 >/dev/null 2>&1 </dev/null & sleep 0.3; echo left"}'
until_holds 'a daemon that a foreground command left is gone' gone 'sleep 1111'
held 'a daemon that a foreground command left behind is ended with it'
zombies() { inside process-watcher 'grep -l "^State:.Z" /proc/[0-9]*/status 2>/dev/null | wc -l'; }
no_zombies() { [ "$(zombies)" = 0 ]; }
until_holds 'no zombie is left' no_zombies
held 'what commands leave behind is reaped'

# --- process-watcher restarts alone, and commands go on
# Not its init, which has the same words in its arguments. The brackets keep this shell from finding itself.
watcher_pid() { inside process-watcher 'for p in /proc/[0-9]*; do case $(tr "\0" " " <$p/cmdline 2>/dev/null) in *watcher-[i]nit*) ;; *dist/process-[w]atcher.js*) echo ${p#/proc/};; esac; done'; }
other_watcher() { local now; now=$(watcher_pid); [ -n "$now" ] && [ "$now" != "$1" ]; }
exited_with() { grep -qE "\"exit_code\": *$2" <<<"$(v1 "sessions/$1/events")"; }
for signal in HUP KILL; do
  began=$(state process-watcher StartedAt)
  begin run '{"command":"sleep 15; echo nearly; exit 7","background":true,"notify_on_complete":true}'
  until_holds 'the background process runs' has_event "$session_id" process.started
  before=$(watcher_pid)
  if [ "$signal" = HUP ]; then
    # A signal to the container: watcher-init.sh lets process-watcher drain and restart.
    quietly 'kill -s HUP process-watcher' kill -s HUP process-watcher
  else
    inside process-watcher "kill -KILL $before" || fail "no process $before"
  fi
  until_holds "another process-watcher after SIG$signal" other_watcher "$before"
  runs 'sleep 15' || has_event "$session_id" process.exited || fail 'the background process did not outlive process-watcher'
  until_holds 'its end is recorded' has_event "$session_id" process.exited
  until_holds 'the exit code is 7' exited_with "$session_id" 7
  until_holds 'the session ends' settled "$session_id"
  [ "$(state process-watcher StartedAt)" = "$began" ] || fail 'the container was restarted'
  held "SIG$signal: process-watcher started again alone; a background process went on and its exit code 7 was reported"
done

# --- the container ends with everything in it
begin run '{"command":"sleep 2222","background":true,"notify_on_complete":true}'
until_holds 'the background process runs' has_event "$session_id" process.started
quietly 'restart process-watcher' restart process-watcher
until_holds 'its loss is recorded' has_event "$session_id" process.lost
until_holds 'the session ends' settled "$session_id"
[ "$(v1 "sessions/$session_id/events" | grep -oE '"type": *"process\.(lost|exited)"' | wc -l)" = 1 ] || fail 'its end was recorded more than once'
held "restart of the container: its background process is reported as lost, once, and session $session_id ended"
