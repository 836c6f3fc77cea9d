#!/bin/sh
# Pins the images of docker-compose.yml and deploy/docker/Dockerfile to what their tags mean now: pulls each and writes its
# name with its digest to .env, where both read it. Later pulls get the same images.
#   deploy/docker/pin-images.sh .env
#   ENGINE=podman deploy/docker/pin-images.sh .env
# Run it again for newer images. Delete the lines to use the tags again.
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
  [ -n "$digest" ] || { echo "pin-images: $engine has no digest of $ref: was it built here?" >&2; exit 1; }
  echo "$name=$ref@$digest"
done >"$pinned"

# If one image is missing, nothing is written: a mix of tags and digests would be neither.
wanted=$(sed -nE 's/^ *(image:|FROM) *\$\{([A-Z_]+):-.*/\2/p' "$root/docker-compose.yml" "$root/deploy/docker/Dockerfile" | sort -u | wc -l)
[ "$(wc -l <"$pinned")" -eq "$wanted" ] || exit 1
if [ -e "$file" ]; then grep -vE "^($(cut -d= -f1 "$pinned" | paste -sd '|' -))=" "$file" >"$pinned.new" || true; fi
cat "$pinned" >>"$pinned.new"
cat "$pinned.new" >"$file"
cat "$pinned"
