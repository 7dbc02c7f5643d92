"""How Numba sees the rules of a game: as a type that has no data at run time."""

from __future__ import annotations

import hashlib
from typing import Any

from numba import typeof, types
from numba.core.dispatcher import Dispatcher
from numba.core.imputils import lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import NativeValue, models, register_model, typeof_impl, unbox

from deltaw.envs.game import Rules
from deltaw.envs.kernel import identity


class RulesType(types.Opaque):
    """How Numba sees the rules of one game: a type without any data at run time.

    Its attributes are constants, so passing the rules on through a recursive search costs nothing, every call is
    resolved at compile time and sizes such as `max_moves` are literals. (As a plain tuple they were some 35 words on
    the machine's stack at every node.)
    """

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        members = (identity(x) if isinstance(x, Dispatcher) else repr(x) for x in rules)
        super().__init__(f"Rules({hashlib.sha256('|'.join(members).encode()).hexdigest()[:32]})")


register_model(RulesType)(models.OpaqueModel)


@infer_getattr
class _RulesAttributes(AttributeTemplate):
    key = RulesType

    def generic_resolve(self, kind: RulesType, attribute: str) -> types.Type | None:
        return typeof(getattr(kind.rules, attribute)) if attribute in Rules._fields else None


@lower_getattr_generic(RulesType)
def _rules_constant(context: Any, builder: Any, kind: RulesType, value: Any, attribute: str) -> Any:
    member = getattr(kind.rules, attribute)
    return context.get_constant_generic(builder, typeof(member), member)


@unbox(RulesType)
def _unbox_rules(kind: RulesType, thing: Any, unboxer: Any) -> NativeValue:
    return NativeValue(unboxer.context.get_dummy_value())


_rules_types: dict[int, tuple[Rules, RulesType]] = {}
"""by the id of the rules, which are kept beside their type: equal rules share a type, which keeps only the first of
them alive, and the id of another could be used again"""


@typeof_impl.register(Rules)
def _type_of_rules(value: Rules, context: Any) -> RulesType:
    """The rules of a game never change, so one look is enough."""
    known = _rules_types.get(id(value))
    if known is None:
        known = _rules_types[id(value)] = (value, RulesType(value))
    return known[1]
