"""Abstract values, one family of Python types per file."""

from suture.compiler.core import NULL, Identity, Lazy, Mutable, Null, Raised, Value
from suture.compiler.objects.address import Address
from suture.compiler.objects.builtin import Builtin
from suture.compiler.objects.cell import Cell
from suture.compiler.objects.class_ import Class, MadeClass, Super
from suture.compiler.objects.composed_iterators import CallIterator, Enumerate, Filter, Map, Zip
from suture.compiler.objects.constant import (
    Constant,
    ConstantMethod,
    OfType,
    Unread,
    Volatile,
    is_single,
)
from suture.compiler.objects.deque import Deque
from suture.compiler.objects.dict_ import Dict
from suture.compiler.objects.dict_view import DictView
from suture.compiler.objects.exception import Raise
from suture.compiler.objects.exception_group import Group
from suture.compiler.objects.function import Function, MadeFunction, Method
from suture.compiler.objects.generator import Generator
from suture.compiler.objects.growing import GrowingDeque, GrowingList, GrowingSet, GrowingTuple
from suture.compiler.objects.instance import DELETED, Object
from suture.compiler.objects.iterator import (
    END,
    CalledIterator,
    DictIterator,
    IndexIterator,
    Iterator,
    ListIterator,
    RangeIterator,
    SequenceIterator,
    SetIterator,
)
from suture.compiler.objects.list_ import List
from suture.compiler.objects.made_by_python import MadeByPython
from suture.compiler.objects.module_ import Module
from suture.compiler.objects.opaque import Opaque, Unknown, UnstableText
from suture.compiler.objects.partial import Partial
from suture.compiler.objects.proxy import Proxy
from suture.compiler.objects.real_object import RealIdentity, RealObject
from suture.compiler.objects.sequence import BuiltinMethod, Container, Sequence
from suture.compiler.objects.set_ import MOVED, Set
from suture.compiler.objects.slice_ import Slice
from suture.compiler.objects.tensor import (
    GraphValue,
    Symbol,
    Tensor,
    TensorMethod,
    symbol_type,
)
from suture.compiler.objects.tuple_ import Size, Tuple
from suture.compiler.objects.unsupported_tensors import Refused

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
    "Group",
    "GrowingDeque",
    "GrowingList",
    "GrowingSet",
    "GrowingTuple",
    "Identity",
    "IndexIterator",
    "Iterator",
    "Lazy",
    "List",
    "ListIterator",
    "MadeByPython",
    "MadeClass",
    "MadeFunction",
    "Map",
    "Method",
    "Module",
    "Mutable",
    "Null",
    "Object",
    "OfType",
    "Opaque",
    "Partial",
    "Proxy",
    "Raise",
    "Raised",
    "RangeIterator",
    "RealIdentity",
    "RealObject",
    "Refused",
    "Sequence",
    "SequenceIterator",
    "Set",
    "SetIterator",
    "Size",
    "Slice",
    "Super",
    "Symbol",
    "Tensor",
    "TensorMethod",
    "Tuple",
    "Unknown",
    "Unread",
    "UnstableText",
    "Value",
    "Volatile",
    "Zip",
    "is_single",
    "symbol_type",
]
