#!/usr/bin/env bash
# Build the cpu image and use it as a learner would: bash docker/tests/image_test.sh  (`make image-test`)
#
# Needs root, buildah, debootstrap and iproute2, and neither an engine nor a registry: the base is
# made by debootstrap. Leaves nothing: all of it lies in one directory. Heeds PIP_…,
# TORCH_INDEX_URL and DEBIAN_MIRROR of the environment.
set -euo pipefail
cd "$(dirname "$0")/../.."

NEEDED_GB=14
mirror=${DEBIAN_MIRROR:-http://deb.debian.org}

stop() { echo "image-test: $1" >&2; exit 1; }
say() { printf '\n== %s (%d s)\n' "$1" "$SECONDS"; }

[ "$(id -u)" = 0 ] || stop "root is needed, for debootstrap and buildah's chroots."
for tool in buildah debootstrap ip unshare; do
    command -v "$tool" >/dev/null \
        || stop "$tool is missing. On Debian: apt install buildah debootstrap iproute2"
done
free_gb=$(df --output=avail --block-size=1G "${TMPDIR:-/tmp}" | tail -1)
[ "$free_gb" -ge "$NEEDED_GB" ] || stop "$NEEDED_GB GB are needed in ${TMPDIR:-/tmp}, $free_gb are free."

place=$(mktemp --directory --tmpdir shardlab-image-XXXXXX)
export TMPDIR=$place  # buildah's copies of layers too
storage=(buildah --root "$place/storage" --runroot "$place/run" --storage-driver vfs)
clean_up() {
    "${storage[@]}" rm --all >/dev/null 2>&1 || true  # unmounts what a failure left mounted
    rm -rf --one-file-system "$place"
}
trap clean_up EXIT

say "A base: Debian with its Python 3.11"
base=$place/base
mkdir "$base"
debootstrap --variant=minbase --include=ca-certificates,python3,python3-venv bookworm "$base" \
    "$mirror/debian" > "$place/debootstrap.log" || { tail "$place/debootstrap.log"; exit 1; }
rm -rf "$base"/var/cache/apt/archives/*.deb "$base"/var/lib/apt/lists/*
# What pip needs here to reach its index, it needs in there too: PIP_CERT becomes `cert = …`.
mounts=()
echo "[global]" > "$base/etc/pip.conf"
while IFS='=' read -r name value; do
    option=$(echo "${name#PIP_}" | tr '[:upper:]_' '[:lower:]-')
    case $option in config-file | constraint) continue ;; esac
    [ ! -e "$value" ] || mounts+=(--volume "$value:$value:ro")
    [ -z "$value" ] || echo "$option = $value" >> "$base/etc/pip.conf"
done < <(env | grep '^PIP_' || true)
container=$("${storage[@]}" from scratch)
"${storage[@]}" add --quiet "$container" "$base" / > /dev/null
"${storage[@]}" commit --quiet "$container" localhost/base > /dev/null
"${storage[@]}" rm "$container" > /dev/null
rm -rf --one-file-system "$base"

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
