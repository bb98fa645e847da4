"""What calling and operating on things does, by family. Each file holds one part of the tracer
or a table of handlers; importing the package fills the tables."""

from suture.calls import (  # noqa: F401
    autograd,
    builtins,
    class_checks,
    collectives,
    constructors,
    distributions,
    extremes,
    flex,
    foreach,
    frames,
    higher_order,
    hooks,
    logging,
    modules,
    operator_functions,
    regions,
    scalars,
    settings,
    shape_questions,
    specials,
    strictness,
    tensor_methods,
    transforms,
    warn,
    weakrefs,
    wrapping_functions,
)
from suture.calls.aliasing import Aliasing
from suture.calls.arguments import Arguments
from suture.calls.arrays import Arrays
from suture.calls.attributes import Attributes
from suture.calls.bodies import Bodies
from suture.calls.checks import Checks
from suture.calls.classes import Classes
from suture.calls.contexts import Contexts
from suture.calls.conversions import Conversions
from suture.calls.draws import Draws
from suture.calls.exceptions import Exceptions
from suture.calls.function_modes import FunctionModes
from suture.calls.functions import Functions
from suture.calls.generators import Generators
from suture.calls.globals import Globals
from suture.calls.growth import Growth
from suture.calls.hashing import Hashing
from suture.calls.identity import Identity
from suture.calls.indexing import Indexing
from suture.calls.inference import Inference
from suture.calls.inputs import Inputs
from suture.calls.introspection import Introspection
from suture.calls.items import Items
from suture.calls.iteration import Iteration
from suture.calls.library_iterators import LibraryIterators
from suture.calls.made_subclasses import MadeSubclasses
from suture.calls.modes import Modes
from suture.calls.module_attributes import ModuleAttributes
from suture.calls.operators import Operators
from suture.calls.overrides import Overrides
from suture.calls.parameters import MadeLeaves
from suture.calls.partials import Partials
from suture.calls.processwide import ProcessWide
from suture.calls.set_order import SetOrder
from suture.calls.subclasses import Subclasses
from suture.calls.super_lookup import SuperLookup
from suture.calls.symbols import Symbols
from suture.calls.tensor_free import TensorFree
from suture.calls.tensor_inputs import TensorInputs
from suture.calls.tensors import Tensors
from suture.calls.texts import Texts
from suture.calls.wrappers import Wrappers
from suture.calls.wrapping import Wrapping

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
    Introspection,
    Hashing,
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
    TensorFree,
    TensorInputs,
    Tensors,
    Texts,
    Wrappers,
    Wrapping,
)

__all__ = ["PARTS"]
