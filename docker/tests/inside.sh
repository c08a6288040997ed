#!/usr/bin/env bash
# What image_test.sh does inside the image: bash inside.sh CONTAINER BUILDAH…
# Runs in a network and a process tree of its own, as the image's user, by the image's own commands.
set -euo pipefail
container=$1
shift
buildah=("$@")
SCORE=100  # of fsdp01

# tini's -s: without a container's process 1 it has to ask for the orphans.
inside() { "${buildah[@]}" run --isolation chroot "$container" -- tini -s -- "$@"; }
configured() {
    "${buildah[@]}" inspect --format "{{range $1}}{{println .}}{{end}}" "$container" | sed '/^$/d'
}
ip link set lo up

echo "-- Who works here"
inside python - <<'END'
import os, pathlib
assert os.getuid() == 1000, f"uid {os.getuid()}"
for path in ("/opt/shardlab/grader/course.py", "/opt/shardlab", "/opt/venv/lib", "/etc/passwd"):
    assert not os.access(path, os.W_OK), f"{path} can be written"
pathlib.Path("/work/written").touch()
print("uid 1000; code, libraries and system are read-only to it; /work is writable")
END

echo "-- doctor"
inside python -m sandbox doctor

echo "-- JupyterLab, by the image's own command"
mapfile -t start < <(configured .OCIv1.Config.Entrypoint; configured .OCIv1.Config.Cmd)
mapfile -t check < <(configured .Docker.Config.Healthcheck.Test)
[ "${check[0]}" = CMD ]
"${buildah[@]}" run --isolation chroot --env JUPYTER_TOKEN=chosen "$container" -- "${start[@]}" &
lab=$!
until inside "${check[@]:1}" 2> /dev/null; do
    kill -0 "$lab" || { echo "JupyterLab ended before it was healthy" >&2; exit 1; }
    [ "$SECONDS" -lt 300 ] || { echo "JupyterLab is not healthy after 300 s" >&2; exit 1; }
    sleep 1
done
echo "healthy after $SECONDS s"
inside python - <<'END'
import json, urllib.error, urllib.request
def ask(path, token=None, method="GET"):
    headers = {"Authorization": f"token {token}"} if token else {}
    return urllib.request.urlopen(
        urllib.request.Request(f"http://127.0.0.1:8888{path}", headers=headers, method=method), timeout=20
    ).read()
try:
    ask("/api/contents")
except urllib.error.HTTPError as refused:
    assert refused.code == 403, refused
else:
    raise AssertionError("JupyterLab shows its files without the token")
names = [file["name"] for file in json.loads(ask("/api/contents", "chosen"))["content"]]
assert "fsdp01.ipynb" in names, names
print("refuses without the token; with it shows", ", ".join(sorted(names)))
ask("/api/shutdown", "chosen", "POST")
END
wait "$lab"

echo "-- The reference solution of fsdp01, graded"
inside sh -c '
    mkdir -p /work/submitted/reference/fsdp01
    cp exercises/source/fsdp01/fsdp01.ipynb /work/submitted/reference/fsdp01/
    python docker/grade_class.py fsdp01 /work/submitted /work/graded
    ls /work/graded'
points=$(inside python -c '
import csv
print(sum(float(row["score"]) for row in csv.DictReader(open("/work/graded/grades.csv"))))')
[ "$points" = "$SCORE.0" ] || { echo "the solution earned $points, expected $SCORE" >&2; exit 1; }
