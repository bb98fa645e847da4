"""The other builds of the core: with AddressSanitizer, and for every Python that is found here."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from core_under_test import core

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
FLAGS = ["-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-fvisibility=hidden"]
PURE = ("pytest", "_pytest", "py", "pluggy", "iniconfig", "packaging", "pygments")
SUPPORTED = ("3.11", "3.12", "3.13", "3.14", "3.15")

# A build under test does not build others.
pytestmark = pytest.mark.skipif("SUTURE_CORE" in os.environ, reason="runs inside such a build")


def run(command, **environment):
    """Runs to the end; its output is what the failure shows."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{done.stdout[-6000:]}\n{done.stderr[-6000:]}"
    return done.stdout


def pytest_command(python, *more):
    return [python, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", *more, HERE]


def compiler():
    cc = shutil.which("cc") or shutil.which("gcc")
    if cc is None:
        pytest.skip("SKIPPED LOUDLY: no C compiler")
    return cc


def other_pythons():
    """One interpreter per supported version other than this one: on the path or of pyenv."""
    found = {}
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    for version in SUPPORTED:
        on_path = shutil.which(f"python{version}")
        candidates = [on_path] if on_path else []
        candidates += sorted(root.glob(f"versions/{version}.*/bin/python3"))
        for candidate in candidates:
            # What is on the path may be a shim for a version that is not switched on.
            if subprocess.run([candidate, "-c", ""], capture_output=True).returncode == 0:
                found[version] = str(candidate)
    return found


def library(name):
    """The compiler's library of this name, None if it has none."""
    path = subprocess.run(
        [compiler(), f"-print-file-name={name}"], capture_output=True, text=True
    ).stdout.strip()
    return Path(path).resolve() if Path(path).is_absolute() else None


def watching_libraries():
    """What is loaded first: libasan, and libstdc++, without which libasan cannot pass on what
    others throw. Python is C, and Triton throws while it is imported."""
    found = library("libasan.so")
    if found is None:
        pytest.skip("SKIPPED LOUDLY: libasan is missing, the core was not run under it")
    return ":".join(str(path) for path in (found, library("libstdc++.so.6")) if path)


def test_under_address_sanitizer(tmp_path):
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip("SKIPPED LOUDLY: this Python cannot allocate with malloc, which is watched")
    libraries = watching_libraries()
    build = ["setup.py", "-q", "build_ext", "--build-lib", tmp_path, "--build-temp", tmp_path / "o"]
    run([sys.executable, *build], SUTURE_ASAN="1")
    built = next(tmp_path.glob("suture/_core*.so"))
    options = [
        "detect_leaks=0",
        "detect_stack_use_after_return=1",
        "protect_shadow_gap=0",  # CUDA's driver wants that room
        f"log_path={tmp_path / 'report'}",
    ]
    try:
        output = run(
            pytest_command(sys.executable, "-v", "-k", "not memory_stays and not recursion"),
            SUTURE_CORE=str(built),
            LD_PRELOAD=libraries,
            ASAN_OPTIONS=":".join(options),
            PYTHONMALLOC="malloc",
        )
    finally:  # pytest keeps what goes to stderr: the report has its own file
        for report in tmp_path.glob("report.*"):
            print(report.read_text()[:8000])
    assert " passed" in output


def pure_packages(folder):
    """pytest for a Python that has none: everything it needs is plain Python."""
    folder.mkdir()
    for name in PURE:
        spec = importlib.util.find_spec(name)
        if spec is not None:
            origin = Path(spec.origin)
            source = origin.parent if origin.name == "__init__.py" else origin
            (folder / source.name).symlink_to(source)
    return folder


@pytest.mark.parametrize("version", SUPPORTED)
def test_on_other_pythons(version, tmp_path):
    if version == f"{sys.version_info[0]}.{sys.version_info[1]}":
        assert core.UNBOUND is not None
        return
    python = other_pythons().get(version)
    if python is None:
        pytest.skip(f"SKIPPED LOUDLY: no Python {version} here, the core was not run on it")
    show = "import sysconfig; print(sysconfig.get_paths()['include'])"
    include = run([python, "-c", show]).strip()
    if not Path(include, "internal", "pycore_frame.h").exists():
        pytest.skip(f"SKIPPED LOUDLY: {python} comes without headers")
    built = tmp_path / "_core.so"
    sources = sorted(ROOT.glob("csrc/*.c"))
    run([compiler(), *FLAGS, "-fPIC", "-shared", f"-I{include}", *sources, "-o", built])
    output = run(
        pytest_command(python),
        SUTURE_CORE=str(built),
        PYTHONPATH=str(pure_packages(tmp_path / "pure")),
        PYTEST_DISABLE_PLUGIN_AUTOLOAD="1",  # of what else is installed there
    )
    assert " passed" in output


def test_this_build_is_of_this_python():
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    assert core.__spec__.origin.endswith(suffix)
