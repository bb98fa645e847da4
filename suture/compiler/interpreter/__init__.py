"""The symbolic interpreter: frames, one handler per instruction, where a region ends."""
