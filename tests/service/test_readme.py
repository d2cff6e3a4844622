"""Commands, programs and examples in the README and in Getting started: all of them run."""

import os
import re
import shlex
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.support.redis_servers import single

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
GETTING_STARTED = (ROOT / "docs/getting-started.md").read_text()
BIN = Path(sys.executable).parent


def blocks(language: str, page: str = README) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


def commands(page: str) -> list[str]:
    text = "\n".join(blocks("sh", page)).replace("\\\n", " ")
    return [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("make ")]


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The service as `make run` starts it, but for the port and the place of the ledger."""
    folder = tmp_path_factory.mktemp("readme")
    port = 8000 + os.getpid() % 20_000 + 10_000
    command = [BIN / "keepscore", "serve", "--config", ROOT / "examples/demo.toml", "--port", str(port)]
    process = subprocess.Popen([*command, "--ledger", f"sqlite:///{folder}/readme.db"], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert "is ready at" in process.stderr.readline()
    yield f"http://127.0.0.1:{port}", folder
    process.terminate()
    process.stderr.close()
    assert process.wait(30) == 0


def test_the_readme_has_the_two_commands_first():
    assert [line.split("#")[0].strip() for line in blocks("sh")[0].strip().splitlines()] == ["make run", "make test"]
    makefile = (ROOT / "Makefile").read_text()
    assert all(f"\n{target}:" in makefile for target in ("run", "test", "lint", "bench"))


@pytest.mark.parametrize(("page", "least"), [(README, 15), (GETTING_STARTED, 6)], ids=["README", "getting started"])
def test_every_command_works(demo, page, least):
    url, folder = demo
    environment = {**os.environ, "KEEPSCORE_URL": url}
    assert len(commands(page)) >= least
    for command in commands(page):
        words = shlex.split(command.replace("http://127.0.0.1:8080", url))
        if words[0] == "curl":
            words[1:1] = ["--silent", "--show-error", "--fail-with-body"]
        words = [str(BIN / "keepscore") if word in (".venv/bin/keepscore", "keepscore") else word for word in words]
        words = [str(ROOT / word) if word.startswith("examples/") else word for word in words]
        done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        assert done.stdout or "--output" in command, command


@pytest.mark.parametrize("code", blocks("python") + blocks("python", GETTING_STARTED))
def test_every_program_runs(code, tmp_path, demo):
    code = code.replace("http://127.0.0.1:8080", demo[0])
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("1")


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_examples_run(example, tmp_path):
    done = subprocess.run([sys.executable, "-W", "error", example], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_the_toml_of_the_readme_and_of_the_documentation_can_be_used(tmp_path):
    from keepscore.config import load_settings

    documents = [README, *((ROOT / "docs" / name).read_text() for name in ("configuration.md", "history.md", "rules.md"))]
    snippets = [snippet for text in documents for snippet in re.findall(r"```toml\n(.*?)```", text, re.DOTALL)]
    assert len(snippets) == 10
    for snippet in snippets:
        file = tmp_path / "boards.toml"
        file.write_text(snippet)
        assert bool(load_settings(str(file), environment={}).boards) == ("[[board]]" in snippet)


def test_the_commands_of_the_redis_page_work(tmp_path):
    text = (ROOT / "docs/redis.md").read_text()
    lines = "\n".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL)).splitlines()
    with single() as redis:
        redis.client().zadd("leaderboard:global", {f"p{i}": i for i in range(100)})
        (tmp_path / "keepscore.toml").write_text(f'[engine]\nurl = "{redis.url}"\n[[board]]\nname = "global"\n')
        for line in [line for line in lines if line and " serve " not in line]:
            words = shlex.split(line.replace("redis://127.0.0.1:6379/0", redis.url))
            done = subprocess.run([BIN / words[0], *words[1:]], cwd=tmp_path, capture_output=True, text=True, timeout=60)
            assert done.returncode == 0, (line, done.stdout, done.stderr)
            assert "100" in done.stdout


def test_links_lead_somewhere():
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"), ROOT / "examples/README.md"):
        for target in re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text()):
            assert (page.parent / target).exists(), (page.name, target)


def test_the_demo_page_is_served(demo):
    with urllib.request.urlopen(demo[0] + "/", timeout=10) as page:
        assert b"Keepscore" in page.read()
