# What image_test.sh and engine_test.sh begin with: a directory of their own, and a base in it.
stop() { echo "$(basename "$0"): $1" >&2; exit 1; }
say() { printf '\n== %s (%d s)\n' "$1" "$SECONDS"; }

# take_place GB TOOL…: set $place to a new directory, if this machine has what is needed.
take_place() {
    local needed_gb=$1 tool free_gb
    shift
    [ "$(id -u)" = 0 ] || stop "root is needed, for debootstrap and its chroots."
    for tool in debootstrap ip unshare "$@"; do
        command -v "$tool" > /dev/null || stop "$tool is missing. docker/README.md says what to install."
    done
    free_gb=$(df --output=avail --block-size=1G "${TMPDIR:-/tmp}" | tail -1)
    [ "$free_gb" -ge "$needed_gb" ] || stop "$needed_gb GB are needed in ${TMPDIR:-/tmp}, $free_gb are free."
    place=$(mktemp --directory --tmpdir shardlab-image-XXXXXX)
}

# make_base: make $place/base, Debian with its Python 3.11, in place of the cpu image's base: no
# registry is needed. Heeds PIP_… and DEBIAN_MIRROR. Sets $needed: the paths of this machine that
# pip in there needs too.
make_base() {
    local name value option
    say "A base: Debian with its Python 3.11"
    debootstrap --variant=minbase --include=ca-certificates,python3,python3-venv bookworm "$place/base" \
        "${DEBIAN_MIRROR:-http://deb.debian.org}/debian" > "$place/debootstrap.log" \
        || { tail "$place/debootstrap.log" >&2; exit 1; }
    rm -rf "$place"/base/var/cache/apt/archives/*.deb "$place"/base/var/lib/apt/lists/*
    needed=()
    # What pip needs here to reach its index, it needs in there too: PIP_CERT becomes `cert = …`.
    echo "[global]" > "$place/base/etc/pip.conf"
    while IFS='=' read -r name value; do
        option=$(echo "${name#PIP_}" | tr '[:upper:]_' '[:lower:]-')
        case $option in config-file | constraint) continue ;; esac
        [ ! -e "$value" ] || needed+=("$value")
        [ -z "$value" ] || echo "$option = $value" >> "$place/base/etc/pip.conf"
    done < <(env | grep '^PIP_' || true)
}
