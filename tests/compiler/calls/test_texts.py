"""The text of objects and of containers that hold them."""

from __future__ import annotations

import dataclasses

import torch

import suture
from tests.harness import check


@dataclasses.dataclass
class Key:
    name: str


class Names(set):
    pass


class Rows(list):
    pass


class Handle:
    pass


def test_text_of_containers_is_made_of_their_items():
    def fn(x):
        path = (Key("a"), [Key("b"), x.shape[0]], {"k": Key("c")})
        return x + 1, f"path={path}", str([Key("d")]), repr((Key("e"),))

    check(fn, torch.ones(2), graphs=1)


def test_text_of_classes_that_derive_from_containers():
    def fn(x):
        return x + 1, f"{Names()} {Names([1])} {Rows([1, Key('a')])} {Rows()!r}"

    check(fn, torch.ones(2), graphs=1)


def test_text_of_a_list_that_holds_itself():
    def fn(x):
        items = [1]
        items.append(items)
        return x + 1, repr(items)

    check(fn, torch.ones(2), graphs=1)


def test_text_with_an_address_is_that_of_the_object_itself():
    held = Handle()

    def fn(x):
        made = Handle()
        return x + 1, str(held), made, f"<{made}>"

    _, text, made, around = suture.compile(fn, backend="eager", fullgraph=True)(torch.ones(1))
    assert text == str(held)
    assert around == f"<{made}>"
