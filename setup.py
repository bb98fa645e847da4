"""Builds suture._core from csrc/. SUTURE_ASAN=1 builds it with AddressSanitizer."""

from __future__ import annotations

import os
import re
import shutil
import tomllib
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


def description(readme: str, address: str) -> str:
    """The README for a page outside of the repository: links to its files become links below
    `address`; without one, the text of the link alone, and no pictures."""

    def absolute(match: re.Match[str]) -> str:
        picture, text, target = match.groups()
        if "://" in target or target.startswith("#"):
            return match[0]
        if address:
            return f"{picture}[{text}]({address.rstrip('/')}/{target})"
        return "" if picture else text

    return re.sub(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)", absolute, readme)


def links(address: str) -> dict[str, str]:
    """The project's links, for pages of packages."""
    base = address.rstrip("/")
    files = {"Guide": "docs/guide", "Changes": "CHANGELOG.md"}
    return {"Source": base, **{name: f"{base}/{file}" for name, file in files.items()}}


def main() -> None:
    with open(ROOT / "pyproject.toml", "rb") as file:
        address = tomllib.load(file)["tool"]["suture"]["address"]
    core = Extension(
        "suture._core",
        sources=sources,
        depends=headers,
        extra_compile_args=FLAGS + (ASAN if asan else []),
        extra_link_args=ASAN if asan else [],
    )
    setup(
        long_description=description((ROOT / "README.md").read_text(encoding="utf-8"), address),
        long_description_content_type="text/markdown",
        project_urls=links(address) if address else {},
        cmdclass={"build_py": BuildWithGuide},
        ext_modules=[core],
    )


if __name__ == "__main__":
    main()
