"""Guards on sizes and numbers, and guards in words: what the compiler knows of them.

A guard and its program are of the runtime (`suture.runtime.guards`).
"""
