"""Builds suture._core from csrc/. SUTURE_ASAN=1 builds it with AddressSanitizer."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent
FLAGS = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-fvisibility=hidden"]
ASAN = ["-fsanitize=address", "-fno-omit-frame-pointer", "-g", "-O1"]

asan = os.environ.get("SUTURE_ASAN") == "1"
sources = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("csrc/*.c"))
headers = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("csrc/*.h"))


class BuildWithGuide(build_py):
    """Puts the guide into the package, so that `suture site` has it where only a wheel is."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            target = Path(self.build_lib) / "suture" / "tools" / "site" / "guide"
            shutil.copytree(ROOT / "docs" / "guide", target, dirs_exist_ok=True)
            for name in ("trace-schema.md", "cache.md"):
                shutil.copy(ROOT / "docs" / name, target)


setup(
    cmdclass={"build_py": BuildWithGuide},
    ext_modules=[
        Extension(
            "suture._core",
            sources=sources,
            depends=headers,
            extra_compile_args=FLAGS + (ASAN if asan else []),
            extra_link_args=ASAN if asan else [],
        )
    ],
)
