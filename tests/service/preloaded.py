"""All that the command line imports, sooner or later. Forked processes have it already."""

from __future__ import annotations

import contextlib
import gc
import io
import sys
from importlib.metadata import entry_points

import httpx

# What commands import late.
import keepscore.cli.takeover
import keepscore.client
import keepscore.service.serve
import keepscore.storage.engines.redis.engine
import keepscore.storage.ledgers.postgres.ledger  # noqa: F401

(SCRIPT,) = entry_points(group="console_scripts", name="keepscore")
#: What the command `keepscore` calls.
MAIN = SCRIPT.load()

# What is imported when it is first needed.
httpx.Client(trust_env=False, verify=False).close()
sys.argv = ["keepscore", "version"]
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
    MAIN()
# What is here already is shared with every command: none has to look whether it is still needed.
gc.freeze()
