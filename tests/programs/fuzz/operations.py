"""Programs of single operations on tensors, as texts: dtypes and numbers that are mixed, views of
one memory that are written through one another, derivatives that are switched on and off. What
raises is noted with its class; most statements have a `try` of their own.
"""

from __future__ import annotations

import random

from tests.programs.fuzz.changes import each
from tests.programs.fuzz.heads import GRADIENTS, PLAIN

# Expressions and statements, in a line of their own or behind " ; "; {a} and {b} are tensors, {k} a
# number.
MIXED = """
{a} + {k} ; {k} - {a} ; {a} * {b} ; {a} / {k} ; {a} // 2 ; {a} % 3 ; {a} ** 2 ; 2 ** {a}
{k} // {a} ; {a} > {k} ; {a} == {b} ; {a} & {b} ; {a} | 1 ; ~{a} ; {a} << 1 ; -{a} ; abs({a})
{a} @ {b} ; {a}.sum() ; {a}.sum(dtype=torch.int64) ; {a}.mean() ; {a}.float().std() ; {a}.max()
{a}.cumsum(0) ; {a}.float().mean(0, keepdim=True) ; {a}.prod() ; {a}.any() ; {a}.argmax()
{a}.sort()[0] ; {a}.max(0) ; {a}.to(torch.float64) ; {a}.int() ; {a}.bool() ; {a}.type_as({b})
{a}.to({b}.dtype) ; {a}.half() ; {a}[0] ; {a}[-1] ; {a}[1:] ; {a}[::2] ; {a}[..., None]
{a}[{a} > 0] ; {a}[[0, 1]] ; {a}[:n] ; {a}[torch.tensor([1, 0])] ; {a}[n - 2] ; {a}[:, None]
{a}[None] ; {a}[5] ; {a}[True] ; {a}[{k}:] ; torch.where({a} > 0, {a}, {k})
torch.where({a} > {b}, {b}, {a}) ; torch.cat([{a}, {b}]) ; torch.stack([{a}, {a} * 2])
torch.tensor([1, {k}, n]) ; torch.tensor([n, 2.5]) ; torch.tensor(n) ; torch.as_tensor({k})
torch.arange(n) ; torch.arange(0, n, 0.5) ; torch.full((2,), {k}) ; torch.full_like({a}, {k})
{a}.new_zeros(n) ; {a}.new_tensor([1, 2]) ; torch.zeros(n, dtype={b}.dtype)
torch.linspace(0, n, 3) ; torch.eye(n)[0] ; {a}.item() ; {a}[0].item() ; int({a}[0])
float({a}.sum()) ; bool({a}[0]) ; {a}.tolist() ; len({a}) ; {a}.shape[0] * n ; {a}.shape
{a}.dim() ; {a}.numel() + {k} ; list({a}) ; [u + 1 for u in {a}] ; max({a}.tolist()) ; sum({a})
max({a}) ; sorted({a}.tolist()) ; {a}.dtype ; {a}.dtype == {b}.dtype ; {a}.is_floating_point()
f'{{{a}}}' ; repr({a}.shape) ; str({a}[0]) ; {a}.numpy() ; torch.from_numpy({a}.numpy() + 1)
{a}.numpy().sum() ; {a}.numpy()[0] ; {a}.clamp(0, {k}) ; {a}.clamp(min={k}) ; {a}.pow({k})
{a}.round() ; {a}.float().floor() ; {a}.sign() ; {a}.roll(1) ; {a}.repeat(2)
{a}.repeat_interleave(2) ; {a}.unique() ; {a}.nonzero() ; {a}.flip(0) ; {a}.view(2, -1)
{a}.reshape(-1, 2) ; {a}.unsqueeze(0) ; {a}.float().softmax(0)
{a}.index_select(0, torch.tensor([0])) ; {a}.gather(0, torch.tensor([1, 0]))
{a}.masked_fill({a} > 0, {k}) ; torch.promote_types({a}.dtype, {b}.dtype)
torch.result_type({a}, {k}) ; {a}.float().quantile(0.5) ; torch.maximum({a}, {b})
torch.add({a}, {b}, alpha=2) ; {a}.eq({k}).sum().item() ; {a} is {b} ; {a}.equal({b})
torch.allclose({a}, {a}) ; isinstance({a}, torch.Tensor) ; divmod({a}, 2) ; {a}.float().norm()
complex({a}[0]) ; round(float({a}[0]), 1) ; {a}.bitwise_and(1) ; {a}.expand(2, -1) ; {a}.split(2)
{a}.chunk(2)[0] ; torch.atleast_2d({a}) ; {a}.diff() ; {a}.outer({a})
[i for i, u in enumerate({a}.tolist()) if u > 0] ; {{i: u for i, u in enumerate({a})}}
hash({a}) == hash({a}) ; (lambda u: u + {k})({a}) ; {a} if {k} else {b} ; n / {k} ; n // 2
divmod(n, {k}) ; n ** {k} ; -n % 3
"""
WRITES = """
{a} += {k} ; {a} *= {b} ; {a} /= 2 ; {a}[0] = {k} ; {a}[1:] = {k} ; {a}[{a} > 0] = {k}
{a}[0] += {k} ; {a}.add_({k}) ; {a}.mul_({b}) ; {a}.copy_({b}) ; {a}.fill_({k}) ; {a}.zero_()
{a}[:2] = {b}[:2] ; {a}.clamp_(0, {k}) ; {a}[[0, 1]] = {a}[[1, 0]] ; {a}.masked_fill_({a} > 0, {k})
{a} //= 2 ; {a} |= 1 ; {a}.index_fill_(0, torch.tensor([0]), {k}) ; torch.add({a}, 1, out={b})
torch.mul({a}, 2, out={a}) ; {a} **= 2 ; {a}[...] = {b} ; {a}[-1] = {a}[0] ; {a}.sub_({b}, alpha=2)
{a} = {a} + 1 ; {a}, {b} = {b}, {a} ; {a}.index_add_(0, torch.tensor([0, 1]), {b}[:2])
{a}.scatter_(0, torch.tensor([0]), {k}) ; {a} %= 3
"""
VIEWED = """
{a}[0] ; {a}[1:] ; {a}[:, 1:] ; {a}.t() ; {a}.transpose(0, -1) ; {a}.permute(-1, 0)
{a}.expand(2, 4) ; {a}.chunk(2)[1] ; {a}.split(1)[0] ; {a}.unbind()[0] ; {a}.select(0, 0)
{a}.narrow(0, 0, 1) ; {a}.as_strided((2, 2), (1, 2)) ; {a}.as_strided((3,), (1,), 1)
{a}.diagonal() ; {a}.unfold(0, 2, 1) ; {a}.view(-1) ; {a}.view({a}.shape) ; {a}.reshape(-1)
{a}.flatten() ; {a}.squeeze() ; {a}.unsqueeze(1) ; {a}.movedim(0, -1) ; {a}.view(torch.int32)
{a}.data ; {a}.detach() ; {a}.contiguous() ; {a}.clone() ; {a}[..., ::2] ; {a}[None] ; {a}.T
{a}.flip(0) ; {a}.view_as({a}) ; {a}.ravel() ; {a}.swapaxes(0, -1) ; {a}.real ; {a}.to({a}.dtype)
{a}.float() ; {a}.mT ; {a}.expand_as({a}) ; {a}.tensor_split(2)[0] ; {a}[:n - 1]
torch.view_as_real({a}.to(torch.complex64)) ; {a}.hsplit(2)[0] ; {a}.broadcast_to(2, 4) ; {a}[{k}:]
"""
THROUGH = """
{a}.add_(1) ; {a}.mul_(2) ; {a}[0] = {k} ; {a}[...] = {k} ; {a} += {k} ; {a}.copy_({b})
{a}[0] = {a}[-1] ; {a}.zero_() ; {a}[[0, 1]] = {a}[[1, 0]] ; {a}.masked_fill_({a} > 0, {k})
{a}.fill_diagonal_({k}) ; {a} = {b} ; torch.add({a}, {k}, out={a}) ; torch.sin({b}, out={a})
{a}.t_() ; {a}.squeeze_() ; {a}.unsqueeze_(0) ; {a}.transpose_(0, -1) ; {a}.data = {b}.data
{a}.set_({b}) ; {a}.data.add_(1) ; {a}.index_add_(0, torch.tensor([0]), {a}[:1])
{a}.swapaxes_(0, -1) ; {a}[1:] -= {a}[:-1] ; {a}.detach_() ; {a}[:1], {a}[1:2] = {a}[1:2], {a}[:1]
{a}.index_put_((torch.tensor([0]),), torch.tensor({k}.0)) ; {a}.sub_({b}) ; {a}[{a} > 0] *= -1
{a}.view(-1)[0] = {k} ; {a}.relu_() ; {a}.data[0] = {k}
"""
ASKED = """
{a}.shape ; {a}.stride() ; {a}.storage_offset() ; {a}.is_contiguous() ; {a}._is_view()
{a}._base is {b} ; {a} is {b} ; {a}.data_ptr() == {b}.data_ptr() ; {a}.sum() ; {a}.tolist()
{a}.is_set_to({b}) ; {a}.untyped_storage().nbytes() ; {a}.equal({b}) ; {a} + 1
{a}.untyped_storage().data_ptr() == {b}.untyped_storage().data_ptr()
"""
DIFFERENTIATED = """
{a}.sin() ; {a} * {b} ; {a} + {b} ; {a}.exp() ; {a} * {k} ; {a}.clone() ; {a}.detach() ; {a}[1:]
{a}.flip(0) ; Twice.apply({a}) ; {a}.relu() ; {a}.detach().requires_grad_()
{a}.view(2, 2).t().reshape(-1) ; {a}.softmax(0) ; quietly({a}) ; loudly({a})
{a}.where({a} > 0, {b}) ; {a}.square().cumsum(0) ; LAYER({a}) ; {a} * W
torch.func.grad(lambda u: (u * u).sum())({a}) ; torch.func.vmap(lambda u: u * 2)({a})
{a}.abs().sqrt()
torch.utils.checkpoint.checkpoint(lambda u: u.sin() * u, {a}, use_reentrant=False)
{a}.expand(2, 4).sum(0) ; torch.func.jvp(torch.sin, ({a},), ({b},))[1]
torch.stack([{a}, {b}]).sum(0) ; {a}.masked_fill({a} > 0, 0.0)
"""
DERIVED = """
{a}.sum().backward() ; ({a} * {b}).sum().backward() ; {a}.sum().backward(retain_graph=True)
x.grad = None
out.append(torch.autograd.grad({a}.sum(), x, retain_graph=True, allow_unused=True)[0])
{a}.retain_grad() ; out.append(torch.autograd.grad(({a} ** 2).sum(), x, create_graph=True)[0])
{a}.requires_grad_() ; x.grad.zero_() ; x.grad.add_(1) ; {a}.requires_grad_(False) ; {a}.add_(1)
{a}.mul_(2) ; {a}[0] = {k} ; {a}.register_hook(lambda g: g * 2)
{a}.register_hook(lambda g: out.append(g.clone())) ; {a}.detach_()
x.register_hook(lambda g: g + 1).remove() ; LAYER.zero_grad() ; OPT.step() ; OPT.zero_grad()
del x.grad ; x.data.mul_(0.5) ; y.requires_grad_() ; x = x.detach()
y = y.detach().clone().requires_grad_(n > 2) ; {a}.backward(torch.ones_like({a}))
torch.nn.utils.clip_grad_norm_([x], 1.0) ; W.grad = None ; {a} = {a} * 2 ; x.grad = torch.ones(4)
y.grad = x.grad ; (x.grad + 1).sum() ; LAYER.requires_grad_({k} > 1) ; W.data = {b}.data
"""
REGIONS = (
    "with torch.no_grad():",
    "with torch.enable_grad():",
    "with torch.inference_mode():",
    "with torch.set_grad_enabled(n > 2):",
    "for _ in range(2):",
    "if n > 2:",
)
KNOWN = """
{a}.requires_grad ; {a}.is_leaf ; {a}.grad_fn is None ; type({a}.grad_fn).__name__ ; {a}.grad
{a}.detach() ; torch.is_grad_enabled() ; {a}.grad is None ; {a}.is_inference() ; {a}.retains_grad
x.grad is y.grad ; {a}.output_nr
"""


class Statements:
    """The lines of one function, drawn from tables of forms."""

    def __init__(self, seed: int, names: list[str]) -> None:
        self.random = random.Random(seed)
        self.names = names
        self.lines = ["    out = []"]
        self.depth = 1

    def form(self, table: str) -> str:
        a, b = (self.random.choice(self.names) for _ in range(2))
        return self.random.choice(each(table)).format(a=a, b=b, k=self.random.choice((0, 1, 2, 3)))

    def line(self, text: str, guarded: bool = True) -> None:
        """One statement; guarded: it may raise and the rest goes on."""
        indent = "    " * self.depth
        if guarded and self.random.random() < 0.8:
            self.lines += [f"{indent}try:", f"{indent}    {text}"]
            self.lines += [f"{indent}except Exception as error:", f"{indent}    told(out, error)"]
        else:
            self.lines.append(indent + text)

    def bind(self, text: str) -> None:
        name = f"v{len(self.names)}"
        self.lines.append(f"    {name} = x")
        self.line(f"{name} = {text}")
        self.names.append(name)

    def region(self, body: list[str]) -> None:
        self.lines.append("    " + self.random.choice(REGIONS))
        self.depth += 1
        for text in body:
            self.line(text)
        self.depth -= 1

    def text(self, head: str) -> str:
        body = "\n".join(self.lines)
        found = ", ".join(self.names)
        return f"{head}\n\ndef fn(x, y, n, items):\n{body}\n    return out, [{found}]\n"


def mixed(seed: int) -> str:
    """Dtypes and numbers, indexing, conversions, writes that may not be possible."""
    w = Statements(seed, ["x", "y", "INTS", "BOOLS"])
    w.lines += ["    global INTS, BOOLS"]
    for _ in range(w.random.randint(3, 8)):
        roll = w.random.random()
        if roll < 0.25:
            w.bind(w.form(MIXED))
        elif roll < 0.45:
            w.line(w.form(WRITES))
        elif roll < 0.5:
            w.lines.append("    suture.graph_break()")
        elif roll < 0.58:
            w.region([f"out.append({w.form(MIXED)})", w.form(WRITES)])
        else:
            w.line(f"out.append({w.form(MIXED)})")
    return w.text(PLAIN)


def aliases(seed: int) -> str:
    """Views of views, written through one another, their shapes changed in place."""
    w = Statements(seed, ["x", "y", "m"])
    w.lines.append("    m = torch.arange(8.0).view(2, 4) + x.sum()")
    for _ in range(w.random.randint(4, 10)):
        roll = w.random.random()
        if roll < 0.35:
            w.bind(w.form(VIEWED))
        elif roll < 0.65:
            w.line(w.form(THROUGH))
        elif roll < 0.72:
            w.lines.append("    suture.graph_break()")
        elif roll < 0.8:
            w.region([w.form(THROUGH), f"out.append({w.form(ASKED)})"])
        else:
            w.line(f"out.append({w.form(ASKED)})")
    return w.text(PLAIN)


def gradients(seed: int) -> str:
    """Derivatives that are taken, accumulated, hooked, switched on and off."""
    w = Statements(seed, ["x", "y"])
    begins = "    x.requires_grad_()", "    x = x.requires_grad_()", "    pass"
    w.lines.append(w.random.choice(begins))
    for _ in range(w.random.randint(4, 10)):
        roll = w.random.random()
        if roll < 0.4:
            w.bind(w.form(DIFFERENTIATED))
        elif roll < 0.65:
            w.line(w.form(DERIVED))
        elif roll < 0.7:
            w.lines.append("    suture.graph_break()")
        elif roll < 0.82:
            w.region([w.form(DERIVED), f"out.append({w.form(DIFFERENTIATED)})"])
        else:
            w.line(f"out.append({w.form(KNOWN)})")
    w.lines.append("    out += [x.grad, y.grad, W.grad, x.requires_grad, y.is_leaf]")
    return w.text(GRADIENTS)
