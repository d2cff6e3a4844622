"""Runs commands of the command line, each in a process of its own that is forked from this one, where all is imported already.

Starting Python and importing everything takes most of a second; there are hundreds of commands to try. Requests and answers are
lines of JSON.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import signal
import sys
import tempfile
import time
import traceback
from importlib.metadata import entry_points
from typing import IO, Any

import httpx

# What the command imports late, all of it.
import keepscore.cli
import keepscore.client
import keepscore.service.serve
import keepscore.storage.engines.redis.engine
import keepscore.storage.ledgers.postgres.ledger  # noqa: F401

(SCRIPT,) = entry_points(group="console_scripts", name="keepscore")
MAIN = SCRIPT.load()


def warm_up() -> None:
    """Have everything imported that is imported when it is first needed."""
    httpx.Client(trust_env=False).close()
    sys.argv = ["keepscore", "version"]
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
        MAIN()
    # What is here already is shared with every command: none has to look whether it is still needed.
    gc.freeze()


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Run one command: its exit code (None if it took too long) and what it wrote."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if not child:
            os._exit(command(request, out, err))
        deadline = time.monotonic() + request["timeout"]
        code = None
        while code is None:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                code = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > deadline:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                break
            else:
                time.sleep(0.002)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode())
    return {"code": code, "out": texts[0], "err": texts[1]}


def command(request: dict[str, Any], out: IO[bytes], err: IO[bytes]) -> int:
    """Be the command."""
    os.dup2(out.fileno(), 1)
    os.dup2(err.fileno(), 2)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = ["keepscore", *request["arguments"]]
    code = 0
    try:
        MAIN()
    except SystemExit as ended:
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
        code = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return code


if __name__ == "__main__":
    warm_up()
    answers = os.fdopen(os.dup(1), "w")
    for line in iter(sys.stdin.readline, ""):
        print(json.dumps(answer(json.loads(line))), file=answers, flush=True)
