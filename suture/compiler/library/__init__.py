"""Models of builtins, of the standard library, and of torch's marks."""
