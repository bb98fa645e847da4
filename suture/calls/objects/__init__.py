"""Objects and classes, as CPython treats them: attributes, instances, isinstance, hashes."""
