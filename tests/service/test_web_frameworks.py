"""Boards in programs of three web frameworks, as `examples/web/` has them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.service.running import environment

WEB = Path(__file__).parents[2] / "examples" / "web"

#: Each makes a client of the program, the way its framework does that in tests.
CLIENTS = {
    "fastapi_app": """
import warnings
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from fastapi.testclient import TestClient
with TestClient(program.app) as client:
    play(lambda path: client.post(path).json(), lambda path: client.get(path).json())
""",
    "flask_app": """
client = program.app.test_client()
play(lambda path: client.post(path).get_json(), lambda path: client.get(path).get_json())
""",
    "django_app": """
from django.test import Client
client = Client()
play(lambda path: client.post("/" + path.lstrip("/")).json(), lambda path: client.get(path).json())
""",
}
PLAY = """
def play(post, get):
    assert post("/scores/ada/1500")["rank"] == 1
    assert post("/scores/ben/1700")["percentile"] == 100
    found = get("/top?limit=1")
    assert (found["total_players"], found["standings"][0]["player_id"], found["standings"][0]["score"]) == (2, "ben", 1700)
    assert isinstance(found["standings"][0]["since"], str)
    print("played")
"""


@pytest.mark.parametrize("name", CLIENTS)
def test_a_program_with_boards(name: str, tmp_path: Path) -> None:
    script = f"import sys; sys.path.insert(0, {str(WEB)!r})\n{PLAY}\nimport {name} as program\n{CLIENTS[name]}"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, "played\n"), done.stderr
    assert (tmp_path / "data" / "keepscore.db").exists(), "the ledger is where the service and the commands have it"
