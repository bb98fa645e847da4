#!/bin/sh
# Checks that the tools the set-up needs are there. For each that is missing: its name, what it is
# for, and how to get it on Debian. PYTHON names the interpreter to use.

python=${PYTHON:-python3.11}
missing=0

missing() { # name, purpose, package
    echo "missing: $1 ($2)" >&2
    echo "    on Debian or Ubuntu: apt-get install $3" >&2
    missing=1
}

if ! version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null); then
    missing "$python" "runs suture" "python3.11 python3.11-venv python3.11-dev"
    echo "    or name another one, 3.11 to 3.15: make PYTHON=python3.12 ..." >&2
else
    case $version in
        3.11 | 3.12 | 3.13 | 3.14 | 3.15) ;;
        *)
            echo "wrong: $python is Python $version, suture needs 3.11 to 3.15" >&2
            echo "    name another one: make PYTHON=python3.11 ..." >&2
            missing=1
            ;;
    esac
    "$python" -c 'import venv, ensurepip' 2>/dev/null ||
        missing "the venv module of $python" "makes .venv" "python$version-venv"
    include=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["include"])')
    [ -e "$include/Python.h" ] ||
        missing "Python.h of $python" "builds the core" "python$version-dev"
fi
command -v gcc >/dev/null 2>&1 || missing gcc "builds the core" gcc
command -v g++ >/dev/null 2>&1 || missing g++ "Inductor compiles its kernels with it" g++
exit $missing
