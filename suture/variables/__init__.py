"""Abstract values, one family of Python types per file."""

from suture.variables.address import Address
from suture.variables.base import NULL, Identity, Lazy, Mutable, Null, Raised, Variable
from suture.variables.constant import Constant, ConstantMethod, Volatile, is_literal, is_single
from suture.variables.deques import Deque
from suture.variables.functions import (
    Builtin,
    Cell,
    Function,
    MadeFunction,
    Method,
    Partial,
)
from suture.variables.generators import Generator, MadeByPython
from suture.variables.growing import GrowingDeque, GrowingList, GrowingSet, GrowingTuple
from suture.variables.held import Held, RealIdentity
from suture.variables.iterators import (
    END,
    CalledIterator,
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
from suture.variables.mapping import Dict
from suture.variables.objects import (
    DELETED,
    Class,
    Module,
    Object,
    Opaque,
    Raise,
    Restless,
    Super,
    Unknown,
)
from suture.variables.proxy import Proxy
from suture.variables.refused import Refused
from suture.variables.sequence import (
    BuiltinMethod,
    Container,
    List,
    Sequence,
    Size,
    Slice,
    Tuple,
)
from suture.variables.sets import MOVED, Set
from suture.variables.tensor import (
    GraphValue,
    Symbol,
    SymbolMethod,
    Tensor,
    TensorMethod,
    symbol_type,
)
from suture.variables.views import DictView

__all__ = [
    "DELETED",
    "END",
    "MOVED",
    "NULL",
    "Address",
    "Builtin",
    "BuiltinMethod",
    "CallIterator",
    "CalledIterator",
    "Cell",
    "Class",
    "Constant",
    "ConstantMethod",
    "Container",
    "Deque",
    "Dict",
    "DictIterator",
    "DictView",
    "Enumerate",
    "Filter",
    "Function",
    "Generator",
    "GraphValue",
    "GrowingDeque",
    "GrowingList",
    "GrowingSet",
    "GrowingTuple",
    "Held",
    "Identity",
    "IndexIterator",
    "Iterator",
    "Lazy",
    "List",
    "ListIterator",
    "MadeByPython",
    "MadeFunction",
    "Map",
    "Method",
    "Module",
    "Mutable",
    "Null",
    "Object",
    "Opaque",
    "Partial",
    "Proxy",
    "Raise",
    "Raised",
    "RangeIterator",
    "RealIdentity",
    "Refused",
    "Restless",
    "Sequence",
    "SequenceIterator",
    "Set",
    "SetIterator",
    "Size",
    "Slice",
    "Super",
    "Symbol",
    "SymbolMethod",
    "Tensor",
    "TensorMethod",
    "Tuple",
    "Unknown",
    "Variable",
    "Volatile",
    "Zip",
    "is_literal",
    "is_single",
    "symbol_type",
]
