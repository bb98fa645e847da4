"""From bytecode to variants. Loaded at the first miss."""
