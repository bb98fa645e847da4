#!/bin/sh
# Makes a folder with Debian sid in it, for the Pythons that this machine does not have:
#
#   tools/chroot.sh DIR [VERSION...]     (VERSION: 3.14, 3.15, ...; without one, 3.14)
#
# Each version comes with its headers and venv, where sid or experimental has it; a version that
# neither has is said and left out. Needs root and debootstrap. Afterwards, for instance:
#
#   chroot DIR python3.14 -m venv /venv
#
# DIR is used as it is if it was made before; a missing Python is then added.
set -eu

mirror=${MIRROR:-http://deb.debian.org/debian}
target=${1:?"usage: tools/chroot.sh DIR [VERSION...]"}
shift
[ $# -gt 0 ] || set -- 3.14

if [ "$(id -u)" != 0 ]; then
    echo "tools/chroot.sh needs root, because chroot does" >&2
    exit 1
fi
if ! command -v debootstrap > /dev/null; then
    echo "debootstrap is missing; on Debian: apt-get install debootstrap" >&2
    exit 1
fi

# The last step leaves this stamp, so that a folder half made is made again.
stamp=$target/.made-chroot
if [ ! -e "$stamp" ]; then
    rm -rf "$target"
    mkdir -p "$target"
    debootstrap --variant=minbase --include=gcc,g++,make,ca-certificates sid "$target" "$mirror"
    echo "deb $mirror experimental main" > "$target/etc/apt/sources.list.d/experimental.list"
    # A mirror that lags behind is taken as it is: its signatures are checked, not its age.
    echo 'Acquire::Check-Valid-Until "false";' > "$target/etc/apt/apt.conf.d/90age"
    chroot "$target" apt-get -qq update
    touch "$stamp"
fi

# apt's own scripts, and multiprocessing later, want /proc and /dev.
for place in proc dev; do
    mountpoint -q "$target/$place" || mount --bind "/$place" "$target/$place"
done
mountpoint -q "$target/dev/shm" || mount --bind /dev/shm "$target/dev/shm"

# Names and certificates as this machine has them, so that pip reaches what it reaches here.
certificates=etc/ssl/certs/ca-certificates.crt
for file in etc/resolv.conf etc/hosts etc/pip.conf $certificates; do
    [ ! -e "/$file" ] || cp "/$file" "$target/$file"
done

for version; do
    if chroot "$target" sh -c "command -v python$version" > /dev/null; then
        continue
    fi
    for suite in sid experimental none; do
        if [ "$suite" = none ]; then
            echo "python$version: neither sid nor experimental has it" >&2
        elif chroot "$target" env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y \
            --no-install-recommends -t "$suite" \
            "python$version" "python$version-dev" "python$version-venv"; then
            break
        fi
    done
done

# The free-threaded build of 3.14 and later is a package of its own, where there is one.
for version; do
    if chroot "$target" apt-cache show "python$version-nogil" > /dev/null 2>&1; then
        chroot "$target" env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y \
            --no-install-recommends "python$version-nogil"
    fi
done
