#!/usr/bin/env bash
# Run a command on a Docker engine of its own: bash engine.sh DIRECTORY [dockerd's flags] -- COMMAND…
#
# Images and volumes lie in DIRECTORY. To be run as process 1 of a PID namespace, with mounts of its
# own (`unshare --pid --fork --mount --mount-proc`): whatever it started ends with it.
set -euo pipefail
place=$1
shift
flags=()
while [ "$1" != -- ]; do flags+=("$1"); shift; done
shift

trap 'exit 130' INT TERM  # process 1 has no default for them
mount -t tmpfs engine /run  # for its socket and state: an engine of this machine keeps its own
dockerd --data-root "$place/data" --exec-root /run/engine --pidfile /run/engine.pid \
    --host unix:///run/docker.sock --exec-opt native.cgroupdriver=cgroupfs \
    --cgroup-parent "$(basename "$place")" ${flags[@]+"${flags[@]}"} > "$place/dockerd.log" 2>&1 &
engine=$!
export DOCKER_HOST=unix:///run/docker.sock
patience=$((SECONDS + 60))
until docker info > /dev/null 2>&1; do
    if ! kill -0 "$engine" 2> /dev/null || [ "$SECONDS" -ge "$patience" ]; then
        tail "$place/dockerd.log" >&2
        exit 1
    fi
    sleep 0.2
done
status=0
"$@" || status=$?
kill "$engine"
wait "$engine" || true
exit "$status"
