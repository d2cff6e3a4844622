"""What a service remembers of what clients ask for is bounded in bytes, whatever they ask for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx

from keepscore import Board
from keepscore.leaderboards import Leaderboards
from keepscore.service.app import EdgeOptions, make_app
from keepscore.service.http import decoding
from tests.service.running import Service

MIB = 1 << 20
PLAYERS = [{"player_id": f"player-{n:04}-" + "x" * 100, "score": n} for n in range(1000)]


def resident_bytes(service: Service) -> int:
    text = Path(f"/proc/{service.process.pid}/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("VmRSS:")) * 1024


def test_pages_of_varied_queries_take_no_more_memory_than_allowed(tmp_path: Path) -> None:
    service = Service(tmp_path, f'[server]\ncache_bytes = {8 * MIB}\n[[board]]\nname = "b"\nsegments = ["region"]\n')
    try:
        assert service.post("b", "scores/batch", {"scores": PLAYERS}).status_code == 200

        def read(first: int, last: int) -> int:
            return sum(
                len(service.client.get(f"/v1/boards/b/top?limit={1000 - n % 100}&offset={n // 100}").content) for n in range(first, last)
            )

        read(0, 100)
        before = resident_bytes(service)
        assert read(100, 1000) > 150 * MIB, "if all of it were kept, it would be seen"
        assert resident_bytes(service) - before < 50 * MIB
    finally:
        service.stop()


async def test_every_cache_of_what_clients_ask_for_is_bounded() -> None:
    """Long and ever new queries, paths, segments and pages; what the caches count stays within what they may have."""
    async with Leaderboards.open("sqlite:///:memory:") as leaderboards:
        await leaderboards.admin.put_board(Board("b", segments=["region"], windows=["daily", "all_time"]))
        app = make_app(leaderboards, "b", EdgeOptions(cache_bytes=MIB))
        caches: dict[str, Any] = {
            "queries": decoding._queries,
            "ways": app._table._ways,
            "views": leaderboards.runtime.reader._views,
        }
        for cache in caches.values():
            cache.max_bytes = 200_000
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
            for n in range(400):
                value = f"{n:04}" + "v" * 2000
                for route in (f"b/top?segment=region:{value}", f"b/players/{value}/events", f"b/history/{value}?limit=1"):
                    await client.get(f"/v1/boards/{route}")
        for name, cache in caches.items():
            assert 100_000 < cache.used_bytes <= 200_000, name
            cache.clear()
        decoding._queries.max_bytes = decoding.QUERIES_BYTES


async def test_a_page_that_is_read_again_and_again_stays() -> None:
    async with Leaderboards.open("sqlite:///:memory:") as leaderboards:
        await leaderboards.admin.put_board(Board("b"))
        for n in range(5):
            await leaderboards.submit("b", f"p{n}", n)
        tops = 0
        top = leaderboards.runtime.reader.top

        async def counted(*given: Any) -> Any:
            nonlocal tops
            tops += 1
            return await top(*given)

        leaderboards.runtime.reader.top = counted  # type: ignore[method-assign]
        app = make_app(leaderboards, "b", EdgeOptions(cache_bytes=20_000))
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
            for address in ("/v1/boards/b/top", "/api/v1/leaderboard/top"):
                tops = 0
                for n in range(50):
                    first = await client.get(address)
                    other = await client.get(f"{address}?{'limit' if 'boards' in address else 'n'}={n + 1}")
                    assert (first.status_code, other.status_code) == (200, 200)
                assert tops == 51, "the popular page is made once, and each of the others"
                await leaderboards.submit("b", "p0", 100 + tops)
