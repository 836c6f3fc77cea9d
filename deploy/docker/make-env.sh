#!/bin/sh
# Makes .env of .env.example, with a fresh value for each secret, for nobody else to read (0600):
#   deploy/docker/make-env.sh .env
# Without a name it prints: `deploy/docker/make-env.sh > .env`. It then closes the file that it is printed to, if it is one.
set -eu
command -v openssl >/dev/null || { echo 'make-env: openssl is wanted, to make the secrets' >&2; exit 1; }
if [ $# -gt 0 ]; then
  # Secrets that are in use are not overwritten: the database keeps the old password.
  if [ -e "$1" ]; then echo "make-env: $1 is there already: move it away first" >&2; exit 1; fi
  umask 077
  exec >"$1"
elif [ -f /dev/stdout ]; then
  # The shell made it with its own umask, mostly open to all. Before the first secret is in it.
  chmod 600 /dev/stdout
fi
while IFS= read -r line; do
  case $line in
    ANGELIA_MASTER_KEY=) echo "$line$(openssl rand -base64 32)" ;;
    [A-Z]*=) echo "$line$(openssl rand -hex 32)" ;;
    *) echo "$line" ;;
  esac
done <"$(dirname "$0")/../../.env.example"
