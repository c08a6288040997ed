#!/usr/bin/env bash
# Build the cpu image and use it as a learner would: bash docker/tests/image_test.sh  (`make image-test`)
#
# Needs root, buildah, debootstrap and iproute2, and neither an engine nor a registry: see place.sh.
# Leaves nothing: all of it lies in one directory.
set -euo pipefail
cd "$(dirname "$0")/../.."
. docker/tests/place.sh
NEEDED_GB=14

take_place "$NEEDED_GB" buildah
export TMPDIR=$place  # buildah's copies of layers too
storage=(buildah --root "$place/storage" --runroot "$place/run" --storage-driver vfs)
clean_up() {
    "${storage[@]}" rm --all >/dev/null 2>&1 || true  # unmounts what a failure left mounted
    rm -rf --one-file-system "$place"
}
trap clean_up EXIT

make_base
mounts=()
for path in ${needed[@]+"${needed[@]}"}; do mounts+=(--volume "$path:$path:ro"); done
container=$("${storage[@]}" from scratch)
"${storage[@]}" add --quiet "$container" "$place/base" / > /dev/null
"${storage[@]}" commit --quiet "$container" localhost/base > /dev/null
"${storage[@]}" rm "$container" > /dev/null
rm -rf --one-file-system "$place/base"

say "The image"
CPU_BASE=localhost/base IMAGE_ENGINE="${storage[*]}" \
    bash docker/build.sh cpu --isolation chroot ${mounts[@]+"${mounts[@]}"} > "$place/build.log" 2>&1 \
    || { tail --lines=40 "$place/build.log"; stop "the build failed; its last lines are above."; }
container=$("${storage[@]}" from --isolation chroot shardlab:cpu)
root=$("${storage[@]}" mount "$container")
packages=$(echo "$root"/opt/venv/lib/python3.*/site-packages)
sizes() { du --block-size=1M --apparent-size --summarize "$@" | sed "s|$root|image:|"; }
sizes "$root"
sizes "$root/opt/venv"
sizes "$root/opt/shardlab"
sizes "$packages"/* | sort --numeric-sort --reverse | sed -n '1,8p'
"${storage[@]}" umount "$container" > /dev/null

say "Inside, as uid 1000, without a network"
# A network and process numbers of its own: no port of this machine is taken, and when the shell
# ends, whatever it started has ended.
unshare --net --pid --fork --mount --mount-proc --kill-child \
    bash docker/tests/inside.sh "$container" "${storage[@]}"
say "passed"
