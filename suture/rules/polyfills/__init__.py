"""Python versions of C functions of the standard library, one file per module.

A function in C cannot be traced. Around tensors it need not be run either: what it does to its
arguments is written here in Python, which the tracer goes into. Each gives the same results,
raises the same exceptions and takes the same number of steps from an iterator as the original;
`tests/rules/test_polyfills_*.py` compare the two on generated input.

`suture.rules.substitutes` imports a file here when its module is first asked about.
"""
