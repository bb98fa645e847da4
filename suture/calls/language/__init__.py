"""What the language itself does: builtins, operators, iteration, generators, exceptions, `with`."""
