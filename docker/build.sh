#!/usr/bin/env bash
# Build an image, shardlab:cpu or shardlab:gpu: bash docker/build.sh cpu|gpu [flags]  (`make image`)
#
# With Docker, Podman or Buildah, whichever works here first, or what IMAGE_ENGINE says.
# Bases and mirrors come from the environment: see the list below.
set -euo pipefail
target=$1
shift
cd "$(dirname "$0")/.."

arguments=()
for name in CPU_BASE GPU_BASE PIP_INDEX_URL TORCH_INDEX_URL DEBIAN_MIRROR UBUNTU_MIRROR; do
    [ -z "${!name:-}" ] || arguments+=(--build-arg "$name=${!name}")
done

if [ -n "${IMAGE_ENGINE:-}" ]; then
    read -ra engine <<< "$IMAGE_ENGINE"
elif docker info > /dev/null 2>&1; then
    engine=(docker)
elif command -v podman > /dev/null; then
    engine=(podman)
elif command -v buildah > /dev/null; then
    engine=(buildah)
else
    echo "image: no Docker that answers, no podman, no buildah. Install one: https://docs.docker.com/engine/install" >&2
    exit 1
fi
# Docker before 23 takes its old builder unless told, which makes the stages of both targets.
export DOCKER_BUILDKIT=1
# The other two leave the health check out unless the format is Docker's.
[ "${engine[0]}" = docker ] || arguments+=(--format docker)
"${engine[@]}" build --file docker/Dockerfile --target "$target" --tag "shardlab:$target" \
    ${arguments[@]+"${arguments[@]}"} "$@" .
