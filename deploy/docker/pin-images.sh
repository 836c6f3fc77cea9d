#!/bin/sh
# Pins the images of docker-compose.yml and of deploy/docker/Dockerfile to what their tags mean now: pulls each, and writes
# its name with its digest to .env, where both read it. What is pulled later is then what was pulled and tried now.
#   deploy/docker/pin-images.sh .env
#   ENGINE=podman deploy/docker/pin-images.sh .env
# Run it again for the images of another day; delete the lines to go by the tags again.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
engine=${ENGINE:-docker}
file=${1:?name the file to write to: deploy/docker/pin-images.sh .env}
umask 077
pinned=$(mktemp)
trap 'rm -f "$pinned" "$pinned.new"' EXIT

# `image: ${NAME:-ref}` and `FROM ${NAME:-ref}`, one line each: NAME ref
sed -nE 's/^ *(image:|FROM) *\$\{([A-Z_]+):-([^}]+)\}.*/\2 \3/p' "$root/docker-compose.yml" "$root/deploy/docker/Dockerfile" |
  sort -u | while read -r name ref; do
  "$engine" pull -q "$ref" >/dev/null || { echo "pin-images: $engine cannot pull $ref" >&2; exit 1; }
  digest=$("$engine" image inspect --format '{{range .RepoDigests}}{{println .}}{{end}}' "$ref" |
    sed -nE "s#^(.*/)?${ref%:*}@(sha256:[0-9a-f]{64})\$#\2#p" | head -n 1)
  [ -n "$digest" ] || { echo "pin-images: $engine knows no digest of $ref: was it built here?" >&2; exit 1; }
  echo "$name=$ref@$digest"
done >"$pinned"

# Each as often as it is named, or nothing is written: half of it would be neither the one nor the other.
wanted=$(sed -nE 's/^ *(image:|FROM) *\$\{([A-Z_]+):-.*/\2/p' "$root/docker-compose.yml" "$root/deploy/docker/Dockerfile" | sort -u | wc -l)
[ "$(wc -l <"$pinned")" -eq "$wanted" ] || exit 1
if [ -e "$file" ]; then grep -vE "^($(cut -d= -f1 "$pinned" | paste -sd '|' -))=" "$file" >"$pinned.new" || true; fi
cat "$pinned" >>"$pinned.new"
cat "$pinned.new" >"$file"
cat "$pinned"
