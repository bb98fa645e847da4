"""What was compiled, kept on disk for the next process (`config.cache_dir`).

`artefact` is what is kept of a variant: plain data. `literals`, `source_paths` and `fingerprints`
are how values, sources and live objects are written; `environment` is what must be the same in both
processes; `files` is the disk; `install` makes a variant of an artefact, if it is proven to fit.
"""
