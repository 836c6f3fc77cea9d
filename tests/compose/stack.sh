# Sourced by check.sh: functions that drive and observe the stack from outside.

compose_files=(-f docker-compose.yml)
compose() { "${compose_command[@]}" --env-file "$scratch/env" -p "$project" "${compose_files[@]}" "$@"; }

passed=0
held() { passed=$((passed + 1)); printf 'ok    %s\n' "$*"; }
fail() {
  printf 'FAIL  %s\n' "$*" >&2
  printf -- '--- last log lines\n' >&2
  compose logs --no-color --tail=15 >&2 || true
  exit 1
}
# quietly <what> <compose arguments...>: shows the output of compose only when it fails.
quietly() {
  local what=$1
  shift
  compose "$@" >"$scratch/said" 2>&1 || { tail -n 40 "$scratch/said" >&2; fail "$what"; }
}

# until_holds <what> <command...>: waits for the command to succeed, with a deadline.
until_holds() {
  local what=$1 deadline=$((SECONDS + WAIT_SECONDS))
  shift
  until "$@"; do
    [ "$SECONDS" -lt "$deadline" ] || fail "$what: not within $WAIT_SECONDS s"
    sleep 0.5
  done
}

free_port() {
  local port
  while port=$((20000 + RANDOM % 10000)); do
    (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
  done
}

# Asks the engine, because compose takes a second for each call.
containers() { "$engine" ps -q --filter "label=com.docker.compose.project=$project" --filter "label=com.docker.compose.service=$1" "${@:2}"; }
# The container of a service, also one that has ended.
container() { containers "$1" -a | head -n 1; }
state() { "$engine" inspect -f "{{.State.$2}}" "$(container "$1")"; }
healthy() {
  local one all
  all=$(containers "$1")
  [ -n "$all" ] || return 1
  for one in $all; do
    # Podman needs systemd to run health checks, and there may be none.
    if [ "$engine" = podman ]; then podman healthcheck run "$one" >/dev/null 2>&1 || true; fi
    [ "$("$engine" inspect -f '{{.State.Health.Status}}' "$one")" = healthy ] || return 1
  done
}
all_healthy() {
  local service
  for service in "$@"; do until_holds "$service is healthy" healthy "$service"; done
}
# (`grep -q` always reads a variable or a here-string: it stops at the first match, and with `pipefail` a program that still
# writes into a pipe would fail the check.)
log_of() { "$engine" logs "$(container "$1")" 2>&1; }
answers() { curl -sf --max-time 5 -o /dev/null "$1"; }
# inside <service> <shell script>: runs the script in the service's container and prints its output.
inside() { "$engine" exec "$(container "$1")" sh -c "$2"; }
# ready <service>: asks its admin port, which is not published.
ready() { inside "$1" 'node -e "fetch(\"http://127.0.0.1:9464/readyz\").then((a) => process.exit(a.ok ? 0 : 1), () => process.exit(1))"' >/dev/null 2>&1; }
all_ready() {
  local service
  for service in "$@"; do until_holds "$service is ready" ready "$service"; done
}

# post <route> <text> <delivery id>: sends a signed webhook and prints the answer of ingress.
post() {
  local body signature
  body="{\"text\":\"$(sed 's/["\\]/\\&/g' <<<"$2")\"}"
  signature=$(printf %s "$body" | openssl dgst -sha256 -hmac "$ANGELIA_DEMO_SECRET" | sed 's/^.* //')
  curl -s --max-time 10 -w '\n%{http_code}' "$ingress/webhooks/$1" -H 'Content-Type: application/json' \
    -H 'X-GitHub-Event: demo' -H "X-GitHub-Delivery: $3" -H "X-Hub-Signature-256: sha256=$signature" -d "$body"
}
v1() { curl -s --max-time 10 -H "Authorization: Bearer $ANGELIA_ADMIN_TOKEN" "$ingress/v1/$1"; }
has_event() { grep -qE "\"type\": *\"$2\"" <<<"$(v1 "sessions/$1/events")"; }
# begin <route> <text>: posts a new webhook and sets session_id.
posted=0
begin() {
  local answer
  posted=$((posted + 1))
  answer=$(post "$1" "$2" "$project-$posted")
  [ "${answer##*$'\n'}" = 202 ] || fail "POST /webhooks/$1 answered $answer"
  session_id=$(sed -n 's/.*"session_id" *: *"\([^"]*\)".*/\1/p' <<<"$answer")
  [ -n "$session_id" ] || fail "no session_id in $answer"
}
settled() { has_event "$1" session.ended && has_event "$1" delivery.succeeded; }
# session <route> <text>: runs a session to its delivery.
session() {
  begin "$@"
  until_holds "session $session_id ends with its delivery" settled "$session_id"
}
# The transcript, with line breaks and quotes as the model and the user see them.
transcript() { v1 "sessions/$1/transcript" | sed 's/\\\\n/\n/g; s/\\n/\n/g; s/\\//g'; }

# Runs a program of the image in a new container, with its output in out and err.
run_once() {
  timeout "$WAIT_SECONDS" "${compose_command[@]}" --env-file "$scratch/env" -p "$project" "${compose_files[@]}" \
    run -T --rm --no-deps "$@" >"$scratch/out" 2>"$scratch/err"
}
# program <what it must print> <arguments...>
program() {
  local wanted=$1
  shift
  run_once "$@" || { cat "$scratch/out" "$scratch/err" >&2; fail "run $*"; }
  grep -q "$wanted" "$scratch/out" || { cat "$scratch/out" "$scratch/err" >&2; fail "run $* does not say: $wanted"; }
  held "run $*: $(grep "$wanted" "$scratch/out" | tr -d '\r' | head -n 1)"
}
# refused <arguments...>: it must end with 78 and one line.
refused() {
  local code=0
  run_once "$@" || code=$?
  [ "$code" = 78 ] || { cat "$scratch/err" >&2; fail "exit code $code instead of 78: run $*"; }
  # Without compose's own messages about networks and containers.
  [ "$(cat "$scratch"/{out,err} | grep -c '^angelia: ')" = 1 ] || { cat "$scratch"/{out,err} >&2; fail "not one line: run $*"; }
  if grep -q '^ *at ' "$scratch"/{out,err}; then fail "a stack: run $*"; fi
  held "exit 78: $(cat "$scratch"/{out,err} | grep '^angelia: ' | tr -d '\r')"
}
