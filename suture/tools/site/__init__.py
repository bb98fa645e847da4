"""The site: static pages made from the registry, the rules, the instruction table and the guide."""

from suture.tools.site.build import GuideFailed, build

__all__ = ["GuideFailed", "build"]
