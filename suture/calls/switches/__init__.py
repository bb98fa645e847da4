"""Torch's state that a program switches for a block: modes, settings, inference mode."""
