"""A client of the HTTP API with the methods of `keepscore.Leaderboards`. Needs httpx: `pip install 'keepscore[client]'`.

Imports `domain` and `errors` only. Start with `client`, then `calls` (each request as data) and `outcomes` (what each answer means). The
`sync_*` modules are generated from the async ones.
"""

from keepscore.client.client import Client
from keepscore.client.sync_client import SyncClient

__all__ = ["Client", "SyncClient"]
