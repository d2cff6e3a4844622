"""Other leaderboard libraries on the same Redis: PyPI's `leaderboard` and npm's `redis-rank`, each in a process of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

CACHE = Path(__file__).parent / ".others"
DRIVERS = Path(__file__).parent / "drivers"
#: The last version of `leaderboard` and the client that it was made for; setuptools has the distutils that this client imports.
PYTHON_PACKAGES = ["leaderboard==3.7.3", "redis==2.10.6", "setuptools==80.9.0"]
NODE_PACKAGES = ["redis-rank@2.2.3", "ioredis@6.0.0"]
#: What each can be told to do. `unawaited` are ranks of 100 without waiting for one another, where there is no call for many.
JOBS = {"leaderboard": ("update", "batch", "ranks"), "redis-rank": ("update", "batch", "ranks", "unawaited")}


class Other:
    """A library that does jobs when it is told to."""

    def __init__(self, name: str, sent: IO[str], received: IO[str]) -> None:
        self.name = name
        self._sent, self._received = sent, received

    def run(self, job: str, seconds: float) -> float:
        """Do a job for some seconds: `update` one player after the other, `batch` of 100, or `ranks` of 100. Gives players a second."""
        self._sent.write(f"{job} {seconds}\n")
        self._sent.flush()
        return float(self._received.readline())


def libraries() -> dict[str, list[str]]:
    """Return the commands that start each library; install what is missing. Without node there is one less."""
    python = CACHE / "python" / "bin" / "python"
    if not _installed("python", PYTHON_PACKAGES):
        subprocess.run([sys.executable, "-m", "venv", "--clear", CACHE / "python"], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PYTHON_PACKAGES], check=True)
        _note_installed("python", PYTHON_PACKAGES)
    commands = {"leaderboard": [str(python), str(DRIVERS / "leaderboard_jobs.py")]}
    if shutil.which("node") and shutil.which("npm"):
        folder = CACHE / "node"
        if not _installed("node", NODE_PACKAGES):
            folder.mkdir(parents=True, exist_ok=True)
            options = ["--no-package-lock", "--no-save", "--no-audit", "--no-fund", "--silent", "--prefix", str(folder)]
            subprocess.run(["npm", "install", *options, *NODE_PACKAGES], check=True)
            _note_installed("node", NODE_PACKAGES)
        commands["redis-rank"] = ["node", str(DRIVERS / "redis_rank_jobs.js")]
    return commands


def _installed(name: str, packages: list[str]) -> bool:
    mark = CACHE / name / "installed"
    return mark.exists() and mark.read_text() == " ".join(packages)


def _note_installed(name: str, packages: list[str]) -> None:
    (CACHE / name / "installed").write_text(" ".join(packages))


@contextmanager
def started(name: str, command: list[str], port: int, key: str, players: int) -> Iterator[Other]:
    """Run a library on the sorted set of that key, until the end of the block."""
    environment = {**os.environ, "NODE_PATH": str(CACHE / "node" / "node_modules")}
    process = subprocess.Popen(
        [*command, str(port), key, str(players)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield Other(name, process.stdin, process.stdout)
    finally:
        process.stdin.close()
        process.terminate()
        process.wait(10)
