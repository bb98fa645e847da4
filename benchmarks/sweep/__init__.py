"""Real models against eager, next to torch.compile: `python -m sweep` from benchmarks/."""
