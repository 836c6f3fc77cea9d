#!/bin/sh
# Makes .env from .env.example, with a new value for each secret. Only its owner can read it (0600):
#   deploy/docker/make-env.sh .env
# Without a name it prints: `deploy/docker/make-env.sh > .env`. If stdout is a file, it closes the file to other users.
set -eu
command -v openssl >/dev/null || { echo 'make-env: openssl is missing: install it, it makes the secrets' >&2; exit 1; }
if [ $# -gt 0 ]; then
  # It never overwrites existing secrets, because the database keeps the old password.
  if [ -e "$1" ]; then echo "make-env: $1 already exists: move it away first" >&2; exit 1; fi
  umask 077
  exec >"$1"
elif [ -f /dev/stdout ]; then
  # The shell created the file with its own umask, often readable for all. Close it before the first secret is in it.
  chmod 600 /dev/stdout
fi
while IFS= read -r line; do
  case $line in
    ANGELIA_MASTER_KEY=) echo "$line$(openssl rand -base64 32)" ;;
    [A-Z]*=) echo "$line$(openssl rand -hex 32)" ;;
    *) echo "$line" ;;
  esac
done <"$(dirname "$0")/../../.env.example"
