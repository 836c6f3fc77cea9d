#!/bin/sh
# Prints .env.example with a fresh value for each secret: deploy/docker/make-env.sh > .env
set -eu
command -v openssl >/dev/null || { echo 'make-env: openssl is wanted, to make the secrets' >&2; exit 1; }
while IFS= read -r line; do
  case $line in
    ANGELIA_MASTER_KEY=) echo "$line$(openssl rand -base64 32)" ;;
    [A-Z]*=) echo "$line$(openssl rand -hex 32)" ;;
    *) echo "$line" ;;
  esac
done <"$(dirname "$0")/../../.env.example"
