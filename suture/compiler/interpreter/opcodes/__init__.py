"""One handler per instruction, by family."""
