# Sourced by check.sh: migrate, check-config, rebuild, prune and import as commands, and what is refused.

# program <what it must print> <arguments...>
program() {
  local wanted=$1
  shift
  timeout "$WAIT_SECONDS" "${compose_command[@]}" --env-file "$scratch/env" -p "$project" "${compose_files[@]}" run -T --rm --no-deps "$@" >"$scratch/out" 2>"$scratch/err" \
    || { cat "$scratch/out" "$scratch/err" >&2; fail "run $*"; }
  grep -q "$wanted" "$scratch/out" || { cat "$scratch/out" "$scratch/err" >&2; fail "run $* does not say: $wanted"; }
  held "run $*: $(grep "$wanted" "$scratch/out" | tr -d '\r' | head -n 1)"
}
program 'the schema is up to date' migrate
program 'is good (1 route)' migrate check-config
program 'the views are rebuilt' migrate rebuild
program 'pruned 0 sessions' migrate prune 30
program 'nothing to import' migrate import

refused() {
  local code=0
  timeout "$WAIT_SECONDS" "${compose_command[@]}" --env-file "$scratch/env" -p "$project" "${compose_files[@]}" run -T --rm --no-deps "$@" >"$scratch/out" 2>"$scratch/err" || code=$?
  [ "$code" = 78 ] || { cat "$scratch/err" >&2; fail "exit code $code instead of 78: run $*"; }
  # Compose itself has something to say about networks and containers.
  [ "$(cat "$scratch"/{out,err} | grep -c '^angelia: ')" = 1 ] || { cat "$scratch"/{out,err} >&2; fail "not one line: run $*"; }
  if grep -q '^ *at ' "$scratch"/{out,err}; then fail "a stack: run $*"; fi
  held "exit 78: $(cat "$scratch"/{out,err} | grep '^angelia: ' | tr -d '\r')"
}
refused -e ANGELIA_CONFIG=/etc/angelia/none.yaml delivery
refused -e DATABASE_URL=postgres://angelia:ab/cd@postgres:5432/angelia delivery
refused -e ANGELIA_DEMO_SECRET= delivery check-config
refused delivery no-such-program
# As root without the capabilities that it needs for commands of other users; and the loop around it does not go on.
refused --user root delivery process-watcher
