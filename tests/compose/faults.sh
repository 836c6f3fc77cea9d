# Sourced by check.sh: restarts, killed Postgres and NATS, replicas, profiles, and what survives `down`.

for service in "${services[@]}"; do
  quietly "restart $service" restart "$service"
  all_healthy "$service"
  until_holds 'ingress is ready' answers "$ingress/readyz"
  session demo "after the restart of $service"
done
held "after a restart of each of ${services[*]} a webhook is worked on"

# --- a killed Postgres: webhooks are refused, no service restarts, and work goes on when it is back
starts() { local service; for service in "${services[@]}"; do state "$service" StartedAt; done; }
before=$(starts)
quietly 'kill postgres' kill postgres
unavailable() { [ "$(post demo 'while Postgres is away' "$project-away" | tail -n 1)" = 503 ]; }
until_holds 'a webhook gets 503 while Postgres is away' unavailable
quietly 'start postgres' start postgres
all_healthy postgres
until_holds 'ingress is ready again' answers "$ingress/readyz"
session demo 'after Postgres was killed'
[ "$(starts)" = "$before" ] || fail 'a service was restarted when Postgres was killed'
held 'Postgres was killed: webhooks got 503, no service restarted, and after its start work went on'

# --- a killed NATS: webhooks are accepted, and their work is done when it is back
quietly 'kill nats' kill nats
begin demo 'while NATS is away'
quietly 'start nats' start nats
until_holds "session $session_id, accepted without NATS, ends" settled "$session_id"
[ "$(starts)" = "$before" ] || fail 'a service was restarted when NATS was killed'
held 'NATS was killed: a webhook was accepted meanwhile, and worked on after its start'

# --- two runners
quietly 'up --scale agent-runner=2' up -d --scale agent-runner=2 --no-recreate
two_runners() { [ "$(containers agent-runner | wc -l)" = 2 ] && healthy agent-runner; }
until_holds 'two runners are healthy' two_runners
names=$(for one in $(containers agent-runner); do "$engine" exec "$one" hostname; done | sort -u | wc -l)
[ "$names" = 2 ] || fail 'two runners have one name: each would free what the other holds'
for number in 1 2 3 4; do session demo "two runners, $number"; done
quietly 'up --scale agent-runner=1' up -d --scale agent-runner=1 --no-recreate
session demo 'one runner again'
held 'two runners, each with a name of its own, and one again: every webhook was worked on'

# --- metrics
if [ -f deploy/observability/prometheus.yml ]; then
  # From the service's own container, because ingress is not on the network of process-watcher.
  for service in "${services[@]}"; do
    inside "$service" "node -e \"fetch('http://$service:9464/metrics').then(async (a) => { const t = await a.text(); process.exit(a.ok && t.includes('# TYPE') ? 0 : 1); }, () => process.exit(1))\"" \
      || fail "$service has no /metrics on its admin port"
  done
  published=$(compose port ingress 9464 2>/dev/null || true)
  [ -z "${published#:0}" ] || fail "the admin port is published: $published"
  quietly 'the profile metrics' --profile metrics up -d
  until_holds 'Prometheus answers' answers "http://127.0.0.1:$PROMETHEUS_PORT/-/healthy"
  until_holds 'Grafana answers' answers "http://127.0.0.1:$GRAFANA_PORT/api/health"
  held 'each service has /metrics inside the network only; the profile metrics brings Prometheus and Grafana'
fi

# --- the command line, in the container of ingress
if [ -f libs/cli/package.json ]; then
  grep -q "$first_session" <<<"$(inside ingress "angelia status $first_session")" || fail 'angelia status in the container'
  held 'angelia in the container of ingress shows a session'
fi

# --- a stop during the start works: it was ignored once, and the container was killed after its whole grace period
quietly 'restart process-watcher' restart process-watcher
quietly 'stop process-watcher' stop process-watcher
[ "$(state process-watcher ExitCode)" != 137 ] || fail 'process-watcher did not hear a stop while it started'
quietly 'start process-watcher' start process-watcher
all_healthy process-watcher
all_ready process-watcher
held 'a stop of process-watcher while it starts is heard'

# --- stop, down, up: what was accepted is still there
quietly 'stop' stop "${services[@]}"
for service in "${services[@]}"; do
  [ "$(state "$service" ExitCode)" = 0 ] || fail "$service exited with $(state "$service" ExitCode) on SIGTERM"
  grep -q 'drained and closed' <<<"$(log_of "$service")" || fail "$service did not drain on SIGTERM"
done
held 'SIGTERM: every service drained and exited with 0'
quietly 'down' --profile metrics down
quietly 'up again' up -d
all_healthy "${services[@]}"
until_holds 'ingress is ready' answers "$ingress/readyz"
has_event "$first_session" session.ended || fail "session $first_session is gone after down and up"
[ "$(post demo 'Hello from a container' "$project-1" | tail -n 1)" = 200 ] || fail 'a delivery id is forgotten after down and up'
session demo 'after down and up'
held 'down and up again: sessions and delivery ids are still known, and work goes on'

# --- prune with export, and import. Any leading service may write to the same files, also as root.
program 'pruned [1-9][0-9]* sessions' migrate prune 0.000001
if has_event "$first_session" session.ended; then fail 'a pruned session is still there'; fi
exported=$(inside ingress 'ls /var/lib/angelia-exports')
program 'imported [1-9][0-9]* sessions' migrate import "/var/lib/angelia-exports/$(head -n 1 <<<"$exported")"
has_event "$first_session" session.ended || fail 'an imported session is not there'
held "prune wrote $exported, and import brought session $first_session back"

# --- `up` without a change recreates nothing: a new container of process-watcher would end background processes
ids() { local service; for service in "${services[@]}"; do container "$service"; done; }
before=$(ids)
quietly 'up once more' up -d
[ "$(ids)" = "$before" ] || fail 'up -d without a change made a container anew'
held 'up -d without a change leaves the services as they are'
