"""`squeeze` of sizes that come from data: 1 is a size like others."""

import pytest
import torch

import suture

PROGRAMS = {
    "all": lambda x, mask: x[mask].squeeze(),
    "one": lambda x, mask: x[mask].squeeze(0),
    "several": lambda x, mask: x[mask].squeeze((0, -1)),
    "in_place": lambda x, mask: x[mask].squeeze_(),
    "places": lambda x, mask: mask.nonzero().squeeze(),
    "function": lambda x, mask: torch.squeeze(x[mask], dim=0),
}


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_size_of_one_is_left_out(name, backend):
    fn = PROGRAMS[name]
    compiled = suture.compile(fn, backend=backend)
    x = torch.randn(4, 1)
    for count in (2, 3, 1, 0, 1, 4):
        mask = torch.arange(4) < count
        expected = fn(x, mask)
        assert compiled(x, mask).shape == expected.shape
        assert torch.equal(compiled(x, mask), expected)


def test_a_size_that_is_known_needs_no_break():
    compiled = suture.compile(
        lambda mask: mask.nonzero().squeeze(-1) + 1, backend="eager", fullgraph=True
    )
    for count in (2, 1, 0):
        mask = torch.arange(4) < count
        assert torch.equal(compiled(mask), mask.nonzero().squeeze(-1) + 1)


class Growing(torch.nn.Module):
    """A buffer that grows by a row in each call, and what `look` says of it before."""

    def __init__(self, look, rows):
        super().__init__()
        self.look = look
        self.register_buffer("rows", torch.ones(rows, 2))

    def forward(self, row):
        try:
            found = self.look(self.rows)
        except RuntimeError as error:
            found = str(error)
        self.rows = torch.cat([self.rows, row])
        return found


LOOKS = {
    "squeezed": lambda rows: rows.squeeze(0).dim(),
    "all squeezed": lambda rows: rows[:, 0].squeeze().dim(),
    "a number": lambda rows: rows[:, 0].item(),
    "contiguous": lambda rows: rows.t().is_contiguous(),
    "expanded": lambda rows: rows[None].expand(2, -1, -1).is_contiguous(),
    "a view": lambda rows: rows.t().contiguous().stride(),
}


@pytest.mark.parametrize("rows", [0, 1])
@pytest.mark.parametrize("look", LOOKS)
def test_a_buffer_that_grows_from_no_row_or_one(look, rows):
    plain, other = Growing(LOOKS[look], rows), Growing(LOOKS[look], rows)
    compiled = suture.compile(other, backend="eager")
    for _ in range(4):
        assert compiled(torch.ones(1, 2)) == plain(torch.ones(1, 2))
        assert torch.equal(plain.rows, other.rows)


class Sum(torch.nn.Module):
    """A buffer that is one number only at first."""

    def __init__(self, numbers):
        super().__init__()
        self.register_buffer("numbers", torch.ones(numbers))

    def forward(self, number):
        found = self.numbers.item()
        self.numbers = torch.cat([self.numbers, number])
        return found


def test_a_buffer_of_one_number_that_grows_is_no_number():
    suture.reset()
    for numbers in (0, 1):
        module = Sum(numbers)
        compiled = suture.compile(module, backend="eager")
        for _ in range(4):
            if module.numbers.numel() == 1:
                assert compiled(torch.ones(1)) == 1.0
                continue
            with pytest.raises(RuntimeError):
                compiled(torch.ones(1))
            module.numbers = torch.cat([module.numbers, torch.ones(1)])
