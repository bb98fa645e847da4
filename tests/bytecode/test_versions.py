"""The same tests on the other Pythons of this machine, without torch and without pytest."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
VERSIONS = ("3.11", "3.12", "3.13", "3.14", "3.15")


def interpreters(version):
    """Executables that may be this Python, the most likely first."""
    if found := shutil.which(f"python{version}"):
        yield found
    roots = [os.environ.get("PYENV_ROOT", ""), pathlib.Path.home() / ".pyenv"]
    for root in filter(None, roots):
        yield from map(str, sorted(pathlib.Path(root).glob(f"versions/{version}.*/bin/python3")))


def works(python, version):
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True)
    return done.returncode == 0 and done.stdout.strip() == version


@pytest.mark.parametrize("version", VERSIONS)
def test_on(version):
    if version == "{}.{}".format(*sys.version_info[:2]):
        pytest.skip("this is the Python that runs the tests")
    python = next((p for p in interpreters(version) if works(p, version)), None)
    if python is None:
        pytest.skip(f"NOT TESTED: no Python {version} on this machine")
    done = subprocess.run(
        [python, "-I", "-B", str(HERE / "plain_runner.py")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
