"""Segment values with braces, which tell a Redis Cluster where a key lies, where the key's template puts the value before the tag."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.service.redis_places import on, open_redis, shared_cluster, verified
from tests.service.running import Service, run, taken

VALUES = ["{x}", "}{", "{", "}", "{}", "{}{x}", "x", "x{"]
TEMPLATES = {
    "before": "lb:{value}:{segment}:{{{board}}}",
    "after": "lb:{{{board}}}:{segment}:{value}",
    "around": "lb:{value}:{{{board}}}:{segment}:{value}",
}


@pytest.mark.parametrize("where", TEMPLATES)
@pytest.mark.parametrize("kind", ["single", "cluster"])
def test_values_with_braces_are_ranked_as_others_are(tmp_path: Path, kind: str, where: str) -> None:
    url = open_redis().url if kind == "single" else shared_cluster().url
    service = Service(tmp_path, on(url))
    board, other = f"braces-{where}", f"plain-{where}"
    try:
        windows = {"all_time": {"key": "lb:{{{board}}}", "segment_key": TEMPLATES[where]}}
        service.define(board, segments=["region"], windows=windows)
        service.define(other)
        for number, value in enumerate(VALUES):
            receipt = service.submit(board, f"p{number}", number, segments={"region": value})
            assert (receipt["rank"], receipt.get("pending")) == (1, None)
        assert service.submit(other, "p0", 1)["rank"] == 1

        def seen() -> list[list[str]]:
            return [service.order(board, segment=f"region:{value}") for value in VALUES]

        assert seen() == [[f"p{number}"] for number in range(len(VALUES))]
        assert len(service.order(board)) == len(VALUES)
        taken(service.client.post(f"/v1/boards/{board}/rebuild"))
        assert seen() == [[f"p{number}"] for number in range(len(VALUES))]
        verified(service)
        service.stop()
        service.start()
        assert seen() == [[f"p{number}"] for number in range(len(VALUES))]
        assert service.submit(board, "late", 100, segments={"region": "{x}"})["rank"] == 1
        assert service.order(board, segment="region:{x}") == ["late", "p0"]
        assert run("verify", "--url", service.url, cwd=service.directory).returncode == 0
        # No other value has the key of one with braces.
        assert service.client.get(f"/v1/boards/{board}/top", params={"segment": "region:\x02x\x03"}).status_code == 404
        assert "Traceback" not in service.log.read_text()
    finally:
        service.stop()
