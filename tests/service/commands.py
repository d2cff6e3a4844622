"""The command `keepscore`, each in a process of its own, forked from one where all is imported already.

Starting Python and importing everything takes most of a second, and there are hundreds of commands and services to try.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path

_forks = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload(["tests.service.preloaded"])


class ForkedCommand:
    """A command under way, as `subprocess.Popen` shows one. What it writes goes to files."""

    def __init__(self, arguments: Sequence[str], cwd: Path, environment: Mapping[str, str], out: Path, err: Path) -> None:
        given = list(arguments), str(cwd), dict(environment), (str(out), str(err))
        # A daemon ends with the tests, and may have no processes of its own.
        self._process = _forks.Process(target=_run, args=given, daemon="--workers" not in arguments)
        self._process.start()
        assert self._process.pid is not None
        self.args, self.pid = ["keepscore", *arguments], self._process.pid

    @property
    def returncode(self) -> int | None:
        """The exit code; negative: the signal that ended it; None while it runs."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """The exit code; None while it runs."""
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end."""
        self._process.join(timeout)
        code = self._process.exitcode
        if code is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self._process.terminate()

    def kill(self) -> None:
        """End it without a word."""
        self._process.kill()


def run_command(arguments: Sequence[str], cwd: Path, timeout: float, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    with tempfile.TemporaryDirectory() as folder:
        out, err = Path(folder) / "out", Path(folder) / "err"
        command = ForkedCommand(arguments, cwd, environment, out, err)
        try:
            code = command.wait(timeout)
        except subprocess.TimeoutExpired:
            command.kill()
            command.wait()
            raise subprocess.TimeoutExpired(command.args, timeout, out.read_bytes(), err.read_bytes()) from None
        return subprocess.CompletedProcess(command.args, code, out.read_text(encoding="utf-8"), err.read_text(encoding="utf-8"))


def _run(arguments: list[str], cwd: str, environment: dict[str, str], files: tuple[str, str]) -> None:
    """Be the command, in the process that was forked for it."""
    for number, path in enumerate(files, start=1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), number)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    from tests.service.preloaded import MAIN

    sys.argv = ["keepscore", *arguments]
    try:
        MAIN()
    except Exception:
        traceback.print_exc()
        sys.exit(1)
