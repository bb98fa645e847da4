"""Every private name of torch, by topic, with the releases in which it was seen.

No other file of suture reaches for one (tests/meta/test_private_names.py). Nothing is looked up
before it is used: importing a topic imports torch and nothing more.
"""

from suture.torch_private.table import MissingName, is_missing

__all__ = ["MissingName", "is_missing"]
