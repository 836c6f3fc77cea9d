#!/bin/sh
# The first process of process-watcher's container, in place of entrypoint.mjs: starts process-watcher, and starts it
# again when it ends, so that the container with everything that runs in it outlives it. (The supervisor of commands is
# detached, but a container ends with its first process, and everything else ends with the container.)
#
#   SIGHUP: process-watcher drains and starts again; commands go on.
#   SIGTERM, SIGINT: it drains, then the container ends.
#
# As process 1 it also reaps what commands leave behind, as a shell's `wait` takes every child.

# EX_CONFIG: a person must act, and is told by a container that ended.
EXIT_CONFIG=78
# Shorter than the patience of whoever waits for it, long enough for a service that cannot start to cost next to nothing.
PAUSE_SECONDS=2

stopping=
child=
trap 'stopping=yes; [ -z "$child" ] || kill -TERM "$child"' TERM INT
trap '[ -z "$child" ] || kill -TERM "$child"' HUP

# A signal to us interrupts `wait`: it has ended when it is not there any more.
wait_for() {
  while :; do
    wait "$1"
    code=$?
    kill -0 "$1" 2>/dev/null || return "$code"
  done
}

while :; do
  # Not by entrypoint.mjs: that listens for signals before process-watcher does, which starts itself anew without the
  # variables that are not for it, and a stop that came right before that was seen to be lost.
  node --enable-source-maps --max-semi-space-size=8 services/process-watcher/dist/main.js &
  child=$!
  # Of a signal that came before there was a child.
  [ -z "$stopping" ] || kill -TERM "$child"
  wait_for "$child"
  code=$?
  child=
  if [ -n "$stopping" ] || [ "$code" = "$EXIT_CONFIG" ]; then exit "$code"; fi
  echo "angelia: process-watcher ended with $code and starts again; commands go on" >&2
  [ "$code" = 0 ] || { sleep "$PAUSE_SECONDS" & wait $!; }
done
