"""A client of the HTTP API with the methods of `keepscore.Leaderboards`. Needs httpx: `pip install 'keepscore[client]'`."""

from keepscore.client.client import Client
from keepscore.client.sync_client import SyncClient

__all__ = ["Client", "SyncClient"]
