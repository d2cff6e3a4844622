"""What holds for every test."""

import os
import shutil
import tempfile
from pathlib import Path

#: Files that are in memory, where the system has such a place, and the room that it must have.
IN_MEMORY, ENOUGH_BYTES = Path("/dev/shm"), 4 << 30

# Tests start hundreds of Python programs, and each would compile all of Keepscore if none might keep what it compiled.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Nearly every test writes to a ledger, which waits for the disk at each commit. No test needs the disk itself: they stop programs,
# not machines.
if "TMPDIR" not in os.environ and os.access(IN_MEMORY, os.W_OK) and shutil.disk_usage(IN_MEMORY).free > ENOUGH_BYTES:
    os.environ["TMPDIR"] = str(IN_MEMORY)
    tempfile.tempdir = None
