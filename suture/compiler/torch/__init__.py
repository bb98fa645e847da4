"""Tensors: operations, modes, subclasses, autograd, higher-order operators."""
