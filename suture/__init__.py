"""suture: graphs of PyTorch programs, as people write them."""

from suture.api import compile

__all__ = ["compile"]
