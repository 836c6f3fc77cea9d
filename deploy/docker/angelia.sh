#!/bin/sh
# The command line, for `docker compose exec ingress angelia ...`.
exec node --enable-source-maps /app/dist/angelia.js "$@"
