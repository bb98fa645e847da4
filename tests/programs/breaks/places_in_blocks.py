"""Places of a break inside the blocks of one function: branches, loops, try, with, match."""

from __future__ import annotations

PLACES = {
    "straight_line": """
def fn(x):
    x = x * 2
    STATEMENT
    return x - 3
""",
    "if_else": """
def fn(x):
    x = x * 2
    if x.dim() == 1:
        x = x + 1
        STATEMENT
        x = x * 3
    else:
        x = x - 1
    if x.dim() == 2:
        x = x * 7
    else:
        STATEMENT
    return x
""",
    "for_range": """
def fn(x):
    for i in range(4):
        x = x + i
        STATEMENT
        note(i)
        x = x * 0.5
    return x
""",
    "for_list": """
def fn(x):
    parts = [1.0, 2.0, 3.0]
    for part in parts:
        x = x + part
        STATEMENT
        x = x * 0.5
    return x, parts
""",
    "for_generator": """
def numbers(n):
    for i in range(n):
        note(("make", i))
        yield i * 2


def fn(x):
    for i in numbers(3):
        x = x + i
        STATEMENT
        x = x * 0.5
        note(("used", i))
    return x
""",
    "for_zip": """
def fn(x):
    for i, w in zip(range(3), [0.5, 1.5, 2.5]):
        x = x * w + i
        STATEMENT
        x = x * 0.5
    return x
""",
    "for_enumerate": """
def fn(x):
    for i, w in enumerate((0.5, 1.5, 2.5)):
        x = x * w + i
        STATEMENT
        x = x * 0.5
    return x
""",
    "for_items": """
def fn(x):
    table = {"a": 1.5, "b": 2.5, "c": 3.5}
    for key, w in table.items():
        x = x * w
        STATEMENT
        note(key)
        x = x * 0.5
    return x
""",
    "while": """
def fn(x):
    i = 0
    while i < 3:
        x = x + i
        STATEMENT
        i += 1
    return x, i
""",
    "nested_loops": """
def fn(x):
    for i in range(4):
        if i == 3:
            break
        for j in range(3):
            if j == 1:
                continue
            x = x + i * j
            STATEMENT
            note((i, j))
        else:
            x = x * 0.5
    else:
        x = x * 100
    return x
""",
    "list_comprehension": """
def fn(x):
    return [EXPRESSION * i for i in range(3) for x in (x + i,)]
""",
    "dict_comprehension": """
def fn(x):
    y = x + 1
    return {i: EXPRESSION for i, x in enumerate((x, y))}
""",
    "set_comprehension": """
def fn(x):
    y = x + 1
    return len({EXPRESSION for x in (x, y)})
""",
    "generator_expression": """
def fn(x):
    return sum(EXPRESSION * i for i, x in enumerate((x, x + 1)))
""",
    "try": """
def fn(x):
    try:
        x = x * 2
        STATEMENT
        x = x + 5
    except ValueError as error:
        note(str(error))
        x = x - 5
    else:
        x = x * 3
    return x
""",
    "except": """
def fn(x):
    try:
        x = x * 2
        raise KeyError("here")
    except KeyError as error:
        note(error.args)
        x = x + 1
        STATEMENT
        x = x * 3
    return x
""",
    "finally": """
def fn(x):
    try:
        x = x * 2
    finally:
        x = x + 1
        STATEMENT
        note("finally")
    return x
""",
    "finally_with_exception": """
def fn(x):
    try:
        try:
            x = x * 2
            raise KeyError("here")
        finally:
            x = x + 1
            STATEMENT
            note("finally")
    except KeyError:
        x = x * 5
    return x
""",
    "nested_try": """
def fn(x):
    try:
        try:
            x = x * 2
            STATEMENT
        except TypeError:
            x = x * 100
        finally:
            note("inner")
            x = x + 1
    except ValueError as error:
        note(repr(error))
        x = x * 3
    return x
""",
    "with_manager": """
def fn(x):
    with Manager("a") as m:
        x = x * 2
        STATEMENT
        note(m.name)
        x = x + 1
    return x * 3
""",
    "with_decorated_generator": """
def fn(x):
    with managed("g") as name:
        x = x * 2
        STATEMENT
        note(name)
        x = x + 1
    return x * 3
""",
    "with_no_grad": """
def fn(x):
    with torch.no_grad():
        x = x * 2
        STATEMENT
        note(torch.is_grad_enabled())
        x = x + 1
    note(torch.is_grad_enabled())
    return x * 3
""",
    "with_autocast": """
def fn(x):
    w = x.reshape(1, -1)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        x = (w @ w.T).reshape(1)
        STATEMENT
        note(torch.is_autocast_enabled("cpu"))
        y = w @ w.T
    note(torch.is_autocast_enabled("cpu"))
    return x, y, w @ w.T
""",
    "with_inference_mode": """
def fn(x):
    with torch.inference_mode():
        x = x * 2
        STATEMENT
        note(torch.is_inference_mode_enabled())
        x = x + 1
    note(torch.is_inference_mode_enabled())
    return x.is_inference(), x.sum().item()
""",
    "exit_stack": """
def fn(x):
    with contextlib.ExitStack() as stack:
        m = stack.enter_context(Manager("one"))
        stack.callback(note, "callback")
        x = x * 2
        STATEMENT
        note(m.name)
        x = x + 1
    return x * 3
""",
    "match": """
def fn(x):
    command = ("scale", 2)
    match command:
        case ("shift", by):
            x = x + by
        case ("scale", by) if by > 1:
            x = x * by
            STATEMENT
            x = x + by
        case _:
            x = x * 100
    return x
""",
}
