"""Run this folder's tests with nothing but the standard library, on any supported Python.

    python tests/bytecode/plain_runner.py

Every ``test_*`` function without parameters in a file that imports no pytest is run.
"""

import importlib.util
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent


def load(path: pathlib.Path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> int:
    sys.path.insert(0, str(HERE.parents[1]))
    load(HERE / "conftest.py")
    ran = 0
    for path in sorted(HERE.glob("test_*.py")):
        if "import pytest" in path.read_text(encoding="utf-8"):
            continue
        module = load(path)
        for name, function in vars(module).items():
            if name.startswith("test_"):
                function()
                ran += 1
    print(f"{ran} passed on {sys.version.split()[0]}")
    return 0 if ran else 1


if __name__ == "__main__":
    sys.exit(main())
