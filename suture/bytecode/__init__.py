"""From code objects to canonical instructions, control flow and liveness.

All facts about the instruction sets of particular Pythons are in this room: ``decode`` gives every
supported Python's bytecode in the one instruction set of ``CANONICAL``, with the original offsets.

A new Python is one file ``py3xx.py`` (its facts at the head, then ``RULES``: a rule for each of its
opcodes) and its line in ``code.py``; ``tests/bytecode/plain_runner.py`` then has to pass on it.
A new canonical instruction is one line in ``canonical.py``.
"""

from .canonical import CANONICAL, iterator_slots
from .code import Code, decode, makes_generator, pair
from .decoder import DecodeError
from .flow import Handling
from .instructions import Effect, Handler, Instruction
from .language import CLASSMETHOD_ASKS, TUPLE_ASKS, not_a_manager, unhashable
from .named import Named, named
from .passing import Use

__all__ = [
    "CANONICAL",
    "CLASSMETHOD_ASKS",
    "TUPLE_ASKS",
    "Code",
    "DecodeError",
    "Effect",
    "Handler",
    "Handling",
    "Instruction",
    "Named",
    "Use",
    "decode",
    "iterator_slots",
    "makes_generator",
    "named",
    "not_a_manager",
    "pair",
    "unhashable",
]
