"""What was compiled, kept on disk for the next process (`config.cache_dir`).

An artefact is what is kept of a variant: plain data. How it is written and read is said in one
place for each kind of thing: `literals` has the constants, `references` the objects, `source_paths`
the sources, `guard_arguments` the guards. `environment` is what must be the same in both processes,
`fingerprints` what must be the same of an object; `files` is the disk. `compiler.misses.describe`
makes an artefact of a variant; `install` makes a variant of one, if it is proven to fit.
"""
