"""Several processes that serve on one port. The system spreads connections over them; each is a writer of its own."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event

from keepscore.config import Settings
from keepscore.domain.durations import duration_ms
from keepscore.errors import ConfigError
from keepscore.service.logs import set_up_log
from keepscore.service.shares import WorkerPlace

__all__ = ["run_workers"]

#: Seconds between two looks at whether all workers are alive, and before one that has died is replaced.
LOOK_EVERY_S = 0.5
#: Seconds that a worker has to end after the time that it has to stop.
STOP_GRACE_S = 5.0

log = logging.getLogger(__name__)
# Not a copy of this process: threads and event loops do not survive being copied.
_context = multiprocessing.get_context("spawn")


def run_workers(settings: Settings, started: Callable[[str], None]) -> None:
    """Serve with several processes until SIGINT or SIGTERM. A worker that dies is replaced."""
    set_up_log(settings.log_level, settings.log_format)
    with tempfile.TemporaryDirectory(prefix="keepscore-") as folder:
        _run_workers(settings, started, folder)


def _run_workers(settings: Settings, started: Callable[[str], None], folder: str) -> None:
    stopping = threading.Event()
    for signum in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signum, lambda *_: stopping.set())
    workers: list[_Worker] = []
    try:
        # The first one defines the boards and fills the engine; the others find all of it there.
        while len(workers) < settings.workers and not stopping.is_set():
            worker = _Worker(settings, WorkerPlace(folder, len(workers)))
            workers.append(worker)
            while not worker.ready.wait(LOOK_EVERY_S) and not stopping.is_set():
                if worker.process.is_alive():
                    continue
                if len(workers) == 1:
                    raise ConfigError("the service could not be started: see the reason above")
                worker = workers[-1] = worker.replaced()
        if not stopping.is_set():
            started(f"http://{f'[{settings.host}]' if ':' in settings.host else settings.host}:{settings.port}")
        while not stopping.wait(LOOK_EVERY_S):
            workers = [worker if worker.process.is_alive() else worker.replaced() for worker in workers]
    finally:
        for worker in workers:
            worker.process.terminate()
        deadline = time.monotonic() + duration_ms(settings.stop_timeout) / 1000 + STOP_GRACE_S
        for worker in workers:
            worker.process.join(max(0.0, deadline - time.monotonic()))
            worker.process.kill()


class _Worker:
    """A process that serves."""

    def __init__(self, settings: Settings, place: WorkerPlace) -> None:
        self._settings = settings
        self._place = place
        #: Set when it serves. It has to stay while the process is being started.
        self.ready = _context.Event()
        work = settings._replace(workers=1), self.ready, place
        self.process: BaseProcess = _context.Process(target=_work, args=work, name=f"keepscore-{place.number + 1}")
        self.process.start()

    def replaced(self) -> _Worker:
        """Return a worker in the place of this one, which has died."""
        log.error("worker %d has died (exit code %s) and is replaced", self._place.number + 1, self.process.exitcode)
        return _Worker(self._settings, self._place)


def _work(settings: Settings, ready: Event, place: WorkerPlace) -> None:
    from keepscore.errors import KeepscoreError
    from keepscore.service.serve import serve_alone

    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        serve_alone(settings, lambda url: ready.set(), place)
    except KeepscoreError as exc:
        log.error("Error: %s", exc)
        raise SystemExit(2) from None


def _end_with_parent() -> None:
    """Stop when the process that started this one is gone, killed maybe: nobody would replace or stop it, and it keeps the port."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
