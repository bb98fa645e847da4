"""What calling and operating on things does, by family. Each file holds one part of the tracer
or a table of handlers; importing the package fills the tables."""

from suture.calls import regions, specials, strictness  # noqa: F401
from suture.calls.arguments import Arguments
from suture.calls.functions import Functions
from suture.calls.language import builtins, extremes, frames, operator_functions  # noqa: F401
from suture.calls.language.contexts import Contexts
from suture.calls.language.conversions import Conversions
from suture.calls.language.dropped import Dropped
from suture.calls.language.exceptions import Exceptions
from suture.calls.language.generators import Generators
from suture.calls.language.items import Items
from suture.calls.language.iteration import Iteration
from suture.calls.language.operators import Operators
from suture.calls.language.set_order import SetOrder
from suture.calls.objects import class_checks, modules, weakrefs  # noqa: F401
from suture.calls.objects.attributes import Attributes
from suture.calls.objects.classes import Classes
from suture.calls.objects.handles import HookHandles
from suture.calls.objects.hashing import Hashing
from suture.calls.objects.instance_dict import InstanceDicts
from suture.calls.objects.introspection import Introspection
from suture.calls.objects.module_attributes import ModuleAttributes
from suture.calls.objects.partials import Partials
from suture.calls.objects.super_lookup import SuperLookup
from suture.calls.objects.texts import Texts
from suture.calls.operations import (  # noqa: F401
    array_types,
    collectives,
    constructors,
    distributions,
    foreach,
    offsets,
    shape_questions,
    tensor_methods,
)
from suture.calls.operations.arrays import Arrays
from suture.calls.operations.checks import Checks
from suture.calls.operations.indexing import Indexing
from suture.calls.operations.parameters import MadeLeaves
from suture.calls.operations.symbols import Symbols
from suture.calls.operations.tensors import Tensors
from suture.calls.outside import wrapping_functions, wrapping_sequences  # noqa: F401
from suture.calls.outside.aliasing import Aliasing
from suture.calls.outside.globals import Globals
from suture.calls.outside.growth import Growth
from suture.calls.outside.identity import Identity
from suture.calls.outside.inputs import Inputs
from suture.calls.outside.processwide import ProcessWide
from suture.calls.outside.tensor_inputs import TensorInputs
from suture.calls.outside.wrapping import Wrapping
from suture.calls.stdlib import cached_functions, logging, scalars, warn  # noqa: F401
from suture.calls.stdlib.draws import Draws
from suture.calls.stdlib.library_iterators import LibraryIterators
from suture.calls.subgraphs import autograd, flex, higher_order, hooks, transforms  # noqa: F401
from suture.calls.subgraphs.bodies import Bodies
from suture.calls.subgraphs.derivatives import TakesDerivatives
from suture.calls.switches import settings  # noqa: F401
from suture.calls.switches.function_modes import FunctionModes
from suture.calls.switches.inference import Inference
from suture.calls.switches.modes import Modes
from suture.calls.tensor_classes.made_subclasses import MadeSubclasses
from suture.calls.tensor_classes.overrides import Overrides
from suture.calls.tensor_classes.subclasses import Subclasses
from suture.calls.tensor_classes.wrappers import Wrappers
from suture.calls.tensor_free import TensorFree

PARTS = (
    Arrays,
    Aliasing,
    Arguments,
    Attributes,
    Bodies,
    Checks,
    Classes,
    Contexts,
    Conversions,
    Draws,
    Dropped,
    Exceptions,
    FunctionModes,
    Functions,
    Generators,
    Globals,
    Growth,
    Identity,
    Indexing,
    Inference,
    Inputs,
    InstanceDicts,
    Introspection,
    Hashing,
    HookHandles,
    Items,
    Iteration,
    LibraryIterators,
    MadeLeaves,
    MadeSubclasses,
    Modes,
    ModuleAttributes,
    Operators,
    Overrides,
    Partials,
    ProcessWide,
    SetOrder,
    Subclasses,
    SuperLookup,
    Symbols,
    TakesDerivatives,
    TensorFree,
    TensorInputs,
    Tensors,
    Texts,
    Wrappers,
    Wrapping,
)

__all__ = ["PARTS"]
