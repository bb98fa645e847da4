"""What `import suture` adds to `import torch`: seconds, and as a share; at most 0.3 s are allowed.

Each measurement is a fresh interpreter; the median of several counts. Run with `make bench-import`.
"""

from __future__ import annotations

import statistics
import subprocess
import sys

RUNS = 5
LIMIT = 0.3

_TIMED = """
import time
{before}
start = time.perf_counter()
{measured}
print(time.perf_counter() - start)
"""


def seconds(measured: str, before: str = "") -> float:
    """The median time that the statement `measured` takes in a fresh interpreter."""
    program = _TIMED.format(before=before, measured=measured)
    times = []
    for _ in range(RUNS):
        done = subprocess.run(
            [sys.executable, "-c", program], check=True, capture_output=True, text=True
        )
        times.append(float(done.stdout))
    return statistics.median(times)


def main() -> int:
    torch = seconds("import torch")
    suture = seconds("import suture", before="import torch")
    first = seconds("lookup(torch.sin)", before="import torch\nfrom suture.rules import lookup")
    print(f"import torch                 {torch:8.3f} s")
    print(f"import suture, torch loaded  {suture:8.3f} s   {suture / torch:.1%} on top")
    print(f"first lookup of a rule       {first:8.3f} s")
    print(
        f"allowed                      {LIMIT:8.3f} s   {'kept' if suture <= LIMIT else 'BROKEN'}"
    )
    return 0 if suture <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
