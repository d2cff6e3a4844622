"""What docs/client.md says: its programs run, and its options and errors are those that there are."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

from keepscore.client import Client
from tests.service.running import Service, environment
from tests.unit.client.test_client import vocabulary

PAGE = (Path(__file__).parents[3] / "docs" / "client.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize(("code", "words"), list(zip(PROGRAMS, ["1 100.0\n1 alice 1500", "2 []\n", "True"], strict=True)))
def test_its_programs_run(tmp_path: Path, code: str, words: str) -> None:
    service = Service(tmp_path, '[[board]]\nname = "global"\noperator = "last"\n')
    try:
        program = code.replace("http://127.0.0.1:8080", service.url).replace("…", "secret")
        command = [sys.executable, "-W", "error", "-c", program]
        done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=60)
    finally:
        service.stop()
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(words)


def test_every_option_is_described_with_its_default() -> None:
    described = dict(re.findall(r"\n\| `(\w+)` \| (\d+) \|", PAGE))
    options = {name: option.default for name, option in inspect.signature(Client).parameters.items() if name not in ("url", "key", "sign")}
    assert {name: int(default) for name, default in described.items()} == options


def test_the_long_calls_are_those_that_are_named() -> None:
    (row,) = (line for line in PAGE.splitlines() if line.startswith("| `long_deadline`"))
    methods = {name: inspect.getsource(method) for name, method in vocabulary(Client).items()}
    # A decision about the queue is made by one method for both.
    long = {name for name, text in methods.items() if "is_long=True" in text or "self._decide(" in text}
    assert set(re.findall(r"`([\w.]+)`", row)) - {"long_deadline"} == long
