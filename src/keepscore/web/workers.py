"""Several processes that serve on one port. The system spreads connections over them; each is a writer of its own."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event

from keepscore.config import Settings
from keepscore.errors import ConfigError

__all__ = ["run_workers"]

#: Seconds between two looks at whether all workers are alive, and before one that has died is replaced.
PAUSE = 0.5
#: Seconds that a worker has for what is under way when it is told to stop.
GRACE = 20.0

log = logging.getLogger(__name__)
# Not a copy of this process: threads and event loops do not survive being copied.
_context = multiprocessing.get_context("spawn")


def run_workers(settings: Settings, started: Callable[[str], None]) -> None:
    """Serve with several processes until SIGINT or SIGTERM. A worker that dies is replaced."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    stopping = threading.Event()
    for signum in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signum, lambda *_: stopping.set())
    workers: list[_Worker] = []
    try:
        # The first one defines the boards and fills the engine; the others find all of it there.
        while len(workers) < settings.workers and not stopping.is_set():
            worker = _Worker(settings, len(workers))
            workers.append(worker)
            while not worker.ready.wait(PAUSE) and not stopping.is_set():
                if worker.process.is_alive():
                    continue
                if len(workers) == 1:
                    raise ConfigError("the service could not be started: the reason is told above")
                worker = workers[-1] = worker.replaced()
        if not stopping.is_set():
            started(f"http://{f'[{settings.host}]' if ':' in settings.host else settings.host}:{settings.port}")
        while not stopping.wait(PAUSE):
            workers = [worker if worker.process.is_alive() else worker.replaced() for worker in workers]
    finally:
        for worker in workers:
            worker.process.terminate()
        for worker in workers:
            worker.process.join(GRACE)
            worker.process.kill()


class _Worker:
    """A process that serves."""

    def __init__(self, settings: Settings, number: int) -> None:
        self._settings = settings
        self._number = number
        #: Set when it serves. It has to stay while the process is being started.
        self.ready = _context.Event()
        work = settings._replace(workers=1), self.ready
        self.process: BaseProcess = _context.Process(target=_work, args=work, name=f"keepscore-{number + 1}")
        self.process.start()

    def replaced(self) -> _Worker:
        """Another one in the place of this one, which has died."""
        log.error("worker %d has died (exit code %s) and is replaced", self._number + 1, self.process.exitcode)
        return _Worker(self._settings, self._number)


def _work(settings: Settings, ready: Event) -> None:
    from keepscore.errors import KeepscoreError
    from keepscore.web.serve import serve_alone

    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        serve_alone(settings, lambda url: ready.set())
    except KeepscoreError as exc:
        log.error("Error: %s", exc)
        raise SystemExit(2) from None


def _end_with_parent() -> None:
    """Stop when the process that started this one is gone, killed maybe: nobody would replace or stop it, and it keeps the port."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
