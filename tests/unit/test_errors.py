import ast
import re
from pathlib import Path

import pytest

from keepscore import errors
from keepscore.errors import KeepscoreError, LedgerInUse, MethodNotAllowed, RankingLost, UnknownBoard


def tree(cls):
    yield cls
    for child in cls.__subclasses__():
        if child.__module__.startswith(errors.__name__):
            yield from tree(child)


ALL = list(tree(KeepscoreError))


def drawn_parents():
    """Name → name of the parent, as the module's docstring draws it: four columns for each level."""
    path, parents = [], {}
    for line in errors.__doc__.splitlines():
        found = re.match(r"    ([│├└─ ]*)([A-Z][A-Za-z]+)", line)
        if found:
            level, rest = divmod(len(found[1]), 4)
            assert rest == 0, line
            path[level:] = [found[2]]
            assert found[2] not in parents, "each is drawn once"
            parents[found[2]] = path[level - 1] if level else "Exception"
    return parents


def test_the_drawn_tree_is_the_real_one():
    assert drawn_parents() == {cls.__name__: cls.__bases__[0].__name__ for cls in ALL}


def test_the_classes_stand_in_the_order_in_which_they_are_drawn():
    assert list(drawn_parents()) == [cls.__name__ for cls in ALL]


def test_all_errors_are_exported_in_order():
    assert errors.__all__ == sorted(cls.__name__ for cls in ALL)
    sources = [ast.parse(path.read_text()) for path in Path(errors.__file__).parent.glob("*.py")]
    assert sorted(node.name for source in sources for node in source.body if isinstance(node, ast.ClassDef)) == errors.__all__


def test_tracebacks_name_errors_by_the_module_that_callers_import():
    assert {cls.__module__ for cls in ALL} == {"keepscore.errors"}


def test_types_are_unique():
    assert len({cls.type for cls in ALL}) == len({cls.title for cls in ALL}) == len(ALL)


@pytest.mark.parametrize("cls", ALL, ids=lambda cls: cls.__name__)
def test_types_are_kebab_case_urns_of_the_class_names(cls):
    assert re.fullmatch(r"urn:keepscore:[a-z]+(-[a-z]+)*", cls.type)
    if cls is not KeepscoreError:
        assert cls.type.removeprefix("urn:keepscore:").replace("-", "") == cls.__name__.lower()
        assert cls.title.replace(" ", "-").lower() == cls.type.removeprefix("urn:keepscore:")


@pytest.mark.parametrize("cls", ALL, ids=lambda cls: cls.__name__)
def test_every_error_says_what_it_means_and_gives_its_message_as_detail(cls):
    assert cls.__doc__
    more = {MethodNotAllowed: ["GET, PUT"], RankingLost: [(1, "all_time", "all_time", "")]}.get(cls, [])
    assert cls("no board 'x'", *more).detail == "no board 'x'"


def test_examples_of_types_that_programs_compare():
    assert (UnknownBoard.type, UnknownBoard.title) == ("urn:keepscore:unknown-board", "Unknown board")
    assert LedgerInUse.type == "urn:keepscore:ledger-in-use"


def test_a_ledger_in_use_may_say_where_its_service_is():
    assert LedgerInUse("in use").url is None
    assert LedgerInUse("in use", "http://localhost:8080").url == "http://localhost:8080"
