"""Rules that hold for all of the code."""

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "keepscore"
#: Positional parameters of a function, at most.
MAX_PARAMETERS = 6


def modules():
    return sorted(SOURCE.rglob("*.py"))


def parameters(function):
    return [each.arg for each in (*function.args.posonlyargs, *function.args.args) if each.arg not in ("self", "cls")]


def is_command(path, function):
    """Whether its parameters are the options of a command, each with a name of its own."""
    return path.parent.name == "cli" and not function.name.startswith("_")


def test_no_function_takes_more_than_six_values_by_their_place():
    found = [
        f"{path.relative_to(SOURCE)}:{node.lineno} {node.name}: {len(parameters(node))}"
        for path in modules()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not is_command(path, node)
        if len(parameters(node)) > MAX_PARAMETERS
    ]
    assert not found, "give them one request object"
