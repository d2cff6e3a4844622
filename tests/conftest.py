"""What holds for every test."""

import os

# Tests start hundreds of Python programs, and each would compile all of Keepscore if none might keep what it compiled.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
