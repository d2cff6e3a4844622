"""The ledger and the engine of each environment."""

from __future__ import annotations

import pytest

from keepscore.access.environments import engine_url_for, ledger_url_for


@pytest.mark.parametrize(
    ("url", "test"),
    [
        ("sqlite:///data/keepscore.db", "sqlite:///data/keepscore.test.db"),
        ("sqlite:////var/lib/scores", "sqlite:////var/lib/scores.test"),
        ("sqlite:///a.b/scores", "sqlite:///a.b/scores.test"),
        ("sqlite:///:memory:", "sqlite:///:memory:"),
        ("postgresql://u:p%40@h:5432/keepscore?sslmode=require", "postgresql://u:p%40@h:5432/keepscore_test?sslmode=require"),
        ("postgresql://h/{environment}_scores", "postgresql://h/test_scores"),
    ],
)
def test_the_ledger_of_an_environment(url: str, test: str) -> None:
    assert ledger_url_for(url, "test") == test
    assert ledger_url_for(url, "live") == url.replace("{environment}", "live")


@pytest.mark.parametrize(
    ("url", "test"),
    [
        ("embedded://", "embedded://"),
        ("redis://h", "redis://h/1"),
        ("redis://:pw@h:6380/4?deadline=1", "redis://:pw@h:6380/5?deadline=1"),
        ("redis+sentinel://a,b:1/mymaster", "redis+sentinel://a,b:1/mymaster/1"),
        ("redis+sentinel://a/7", "redis+sentinel://a/7/1"),
        ("redis+sentinel://a/mymaster/3", "redis+sentinel://a/mymaster/4"),
        ("redis+cluster://{environment}.example:6379", "redis+cluster://test.example:6379"),
    ],
)
def test_the_engine_of_an_environment(url: str, test: str) -> None:
    assert engine_url_for(url, "test") == test
    assert engine_url_for(url, "live") == url.replace("{environment}", "live")


def test_a_cluster_cannot_be_two_environments() -> None:
    with pytest.raises(ValueError, match="environment"):
        engine_url_for("redis+cluster://h:6379", "test")
