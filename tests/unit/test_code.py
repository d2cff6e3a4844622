"""Rules that hold for all of the code."""

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "keepscore"
TESTS = Path(__file__).parents[1]
#: Private names that tests still know, by file. No others may be added.
STILL_KNOWN = {
    "contract/fairplay/test_voids.py": {"_record", "_voids"},
    "contract/five_players.py": {"_boards"},
    "contract/lifecycle/test_resets.py": {"_client"},
    "contract/lifecycle/test_verify.py": {"_boards"},
    "contract/storage/test_engine_positions.py": {"_client", "_primary", "_server"},
    "contract/storage/test_engine_redis.py": {"_client", "_primary"},
    "contract/storage/test_engine_redis_lost_shadows.py": {"_boards", "_shadows"},
    "contract/storage/test_ledger_postgres.py": {"_connections"},
    "contract/writing/test_linked_boards.py": {"_boards"},
    "contract/writing/test_memory.py": {"_Values", "_changed", "_connections", "_counts", "_tail"},
    "service/access/test_environments.py": {"_flags"},
    "service/client/test_client.py": {"_call"},
    "service/live/test_outside_channels.py": {"_clients"},
    "service/live/test_real_connections.py": {"_writer"},
    "service/live/test_streams.py": {"_listeners"},
    "service/test_memory_bounds.py": {"_queries", "_table", "_views", "_ways"},
    # The simulation stands in for the engine and the event loop, and drives them from within.
    "simulation/checker.py": {"_boards"},
    "simulation/engine.py": {"_boards", "_shadows"},
    "simulation/loop.py": {"_get_running_loop", "_set_running_loop"},
    "simulation/test_checker.py": {"_boards"},
}
#: Public methods of tuples with names, whose names begin like private ones.
OF_TUPLES = {"_asdict", "_fields", "_make", "_replace"}
#: Public functions whose names begin so, too.
OF_PYTHON = {"_exit"}
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


def is_private(name):
    return (
        isinstance(name, str) and name.startswith("_") and not name.startswith("__") and name != "_" and name not in OF_TUPLES | OF_PYTHON
    )


def private_names(tree):
    """The private names that a test uses, each with its line: attributes of others, imports, and names of attributes as text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            if not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")):
                yield node.lineno, node.attr
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, each.name) for each in node.names if is_private(each.name))
        elif isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in ("getattr", "setattr", "object"):
            names = [each.value for each in node.args[1:2] if isinstance(each, ast.Constant)]
            yield from ((node.lineno, name) for name in names if is_private(name))


def test_no_test_knows_more_private_names():
    found = [
        f"{path.relative_to(TESTS)}:{line} {name}"
        for path in sorted(TESTS.rglob("*.py"))
        for line, name in private_names(ast.parse(path.read_text()))
        if not is_own(path, name) and name not in STILL_KNOWN.get(str(path.relative_to(TESTS)), ())
    ]
    assert not found, "test what others use: a public name, an injected part, the runtime"


def is_own(path, name):
    """Whether a class of the same file has the name: that is its own."""
    return any(
        isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.value, ast.Name) and node.value.id == "self"
        for node in ast.walk(ast.parse(path.read_text()))
    )
