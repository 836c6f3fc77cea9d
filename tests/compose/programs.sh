# Sourced by check.sh: migrate, check-config, rebuild, prune and import as commands, and what is refused.

program 'the schema is up to date' migrate
program 'is good (. route' migrate check-config
program 'the views are rebuilt' migrate rebuild
program 'pruned 0 sessions' migrate prune 30
program 'nothing to import' migrate import

refused -e ANGELIA_CONFIG=/etc/angelia/none.yaml migrate delivery
refused -e DATABASE_URL=postgres://angelia:ab/cd@postgres:5432/angelia migrate delivery
refused -e ANGELIA_DEMO_SECRET= migrate check-config
refused migrate no-such-program
# As root without the capabilities that commands of other users need. Its restart loop ends as well.
refused --user root migrate process-watcher
