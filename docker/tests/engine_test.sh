#!/usr/bin/env bash
# Build the cpu image with Docker and use it as people do: bash docker/tests/engine_test.sh PYTHON
# (`make engine-test`). PYTHON has pytest and Docker Compose: the project's environment.
#
# Runs on a Docker engine of its own: no image, volume, port or firewall rule of this machine is
# touched. Needs root, dockerd, debootstrap, iproute2 and iptables; no registry: see place.sh.
# Leaves nothing.
set -euo pipefail
python=$(realpath --no-symlinks "$1")
cd "$(dirname "$0")/../.."
. docker/tests/place.sh
NEEDED_GB=10

take_place "$NEEDED_GB" dockerd docker iptables
clean_up() {
    rm -rf --one-file-system "$place"
    find /sys/fs/cgroup -depth -type d -path "*/$(basename "$place")*" -exec rmdir {} + 2> /dev/null || true
}
trap clean_up EXIT
alone() { unshare --pid --fork --mount --mount-proc --kill-child "$@"; }

make_base
for path in ${needed[@]+"${needed[@]}"}; do cp --parents --recursive --dereference "$path" "$place/base"; done

say "The image, built by Docker"
# On this machine's network, which leads to the packages, and without a word to its firewall.
CPU_BASE=shardlab-base alone bash docker/tests/engine.sh "$place" --bridge none --iptables=false -- bash -c '
    tar --create --directory "$1" . | docker import - shardlab-base > /dev/null
    IMAGE_ENGINE=docker bash docker/build.sh cpu --network host > "$2" 2>&1 || { tail --lines 40 "$2"; exit 1; }
    docker images' build "$place/base" "$place/build.log"

say "In use, on a network of its own"
alone --net bash -c 'ip link set lo up; exec bash "$@"' use \
    docker/tests/engine.sh "$place" -- "$python" -m pytest -m engine docker/tests
say "passed"
