"""On a device launched kernel by kernel, layers are shared only where it is busy meanwhile."""

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from suture.compiler.graph.device_time import hides_calls, runs_elsewhere


def feed_forward(x, up, down):
    y = torch.nn.functional.gelu(torch.nn.functional.linear(x, up))
    return x + torch.nn.functional.linear(y, down)


def attention(q, k, v):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v).relu()


def products(x, y):
    return torch.bmm(x, y)


def nodes_of(fn, shapes, device="cuda", dtype=torch.float32):
    """The nodes of a function on fake tensors of these shapes, as a trace notes them."""
    module = torch.fx.symbolic_trace(fn)
    with FakeTensorMode():
        values = [torch.empty(*shape, device=device, dtype=dtype) for shape in shapes]
        inputs = iter(values)

        class Noting(torch.fx.Interpreter):
            def run_node(self, node):
                made = next(inputs) if node.op == "placeholder" else super().run_node(node)
                node.meta["example_value"] = made
                return made

        Noting(module).run(*values)
    return [node for node in module.graph.nodes if node.op == "call_function"]


def layer(rows, size):
    return (rows, size), (4 * size, size), (size, 4 * size)


def test_small_layers_leave_the_device_waiting():
    assert not hides_calls(nodes_of(feed_forward, layer(512, 256)))


def test_large_layers_keep_it_busy():
    assert hides_calls(nodes_of(feed_forward, layer(4096, 2048)))


def test_narrow_numbers_are_faster():
    shapes = layer(1024, 1024)
    assert hides_calls(nodes_of(feed_forward, shapes))
    assert not hides_calls(nodes_of(feed_forward, shapes, dtype=torch.bfloat16))


def test_reading_the_weights_takes_time():
    assert hides_calls(nodes_of(feed_forward, layer(1, 12288)))


@pytest.mark.parametrize(("length", "busy"), [(64, False), (8192, True)])
def test_attention_takes_time_with_the_square_of_the_length(length, busy):
    assert hides_calls(nodes_of(attention, [(2, 16, length, 64)] * 3)) is busy


def test_products_of_batches_are_counted_once():
    one = nodes_of(products, [(1, 512, 512), (1, 512, 512)])
    many = nodes_of(products, [(4096, 512, 512), (4096, 512, 512)])
    assert not hides_calls(one)
    assert hides_calls(many)


def test_the_processor_itself_is_no_device():
    assert not runs_elsewhere(nodes_of(feed_forward, layer(4, 8), device="cpu"))
    assert runs_elsewhere(nodes_of(feed_forward, layer(4, 8)))
