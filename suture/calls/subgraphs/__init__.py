"""Functions that become graphs of their own: bodies of operators, transforms, autograd.Function,
hooks."""
