#!/bin/sh
# The command line, for `docker compose exec ingress angelia ...`.
# As in entrypoint.mjs.
[ -z "$ANGELIA_CONFIG_DIRECTORY" ] || export ANGELIA_CONFIG=/etc/angelia/live/angelia.yaml
exec node /app/dist/angelia.js "$@"
