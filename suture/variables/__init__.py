"""Abstract values, one family of Python types per file."""

from suture.variables.address import Address
from suture.variables.base import NULL, Identity, Lazy, Mutable, Null, Raised, Variable
from suture.variables.constant import Constant, ConstantMethod, Volatile, is_literal
from suture.variables.functions import (
    Builtin,
    Cell,
    Function,
    MadeFunction,
    Method,
    Partial,
    RealIdentity,
)
from suture.variables.generators import Generator
from suture.variables.iterators import (
    END,
    CallIterator,
    DictIterator,
    Enumerate,
    Filter,
    IndexIterator,
    Iterator,
    ListIterator,
    Map,
    RangeIterator,
    SequenceIterator,
    SetIterator,
    Zip,
)
from suture.variables.growing import GrowingList, GrowingSet
from suture.variables.mapping import Dict, DictView, Set
from suture.variables.objects import DELETED, Class, Module, Object, Opaque, Raise, Super, Unknown
from suture.variables.proxy import Proxy
from suture.variables.refused import Refused
from suture.variables.sequence import (
    BuiltinMethod,
    Container,
    Deque,
    List,
    Sequence,
    Size,
    Slice,
    Tuple,
)
from suture.variables.tensor import (
    GraphValue,
    Symbol,
    SymbolMethod,
    Tensor,
    TensorMethod,
    symbol_type,
)

__all__ = [name for name in dir() if not name.startswith("_")]
