#!/bin/sh
# The command line, for `docker compose exec ingress angelia ...`.
exec node /app/dist/angelia.js "$@"
