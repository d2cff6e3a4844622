"""Write the tables of board fields in docs/configuration.md from the source, or check that they are up to date (`--check`)."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import msgspec

from keepscore.domain.anomalies import Anomalies
from keepscore.domain.board_fields import TABLES
from keepscore.domain.board_parts import Decay, Window
from keepscore.domain.boards import Board
from keepscore.domain.inactivity import Inactivity
from keepscore.domain.leagues.definition import CohortRule, League
from keepscore.domain.prizes import Prize, Reward
from keepscore.domain.ratings.definition import KStep, RankedFrom, Rating
from keepscore.domain.rollups import Rollup
from keepscore.domain.rules import Rules
from keepscore.domain.tiers import Tier

PAGE = Path(__file__).parents[1] / "docs" / "configuration.md"
TABLE_STRUCTS = (
    Board,
    Window,
    Decay,
    Inactivity,
    Rollup,
    Rules,
    Anomalies,
    Rating,
    KStep,
    RankedFrom,
    Prize,
    Reward,
    Tier,
    League,
    CohortRule,
)
STRUCTS: dict[str, type[msgspec.Struct]] = {struct.__name__: struct for struct in TABLE_STRUCTS}
#: Where to read more of a field.
SECTIONS = {
    "decay": "[Decay](#decay)",
    "movement": "[Movement](history.md#movement)",
    "inactivity": "[Inactivity](#inactivity)",
    "rollup": "[Roll-ups](#roll-ups)",
    "rating": "[Matches](matches.md)",
    "tiers": "[Tiers](tiers.md)",
    "league": "[Leagues](leagues.md)",
    "by": "[Teams](teams.md)",
    "rules": "[Rules](rules.md)",
    "prize": "[Prizes](prizes.md)",
    "resets": "[Resets](#resets)",
    "keep_top": "[Only the first](#only-the-first)",
    "following": "[Migration](migration.md)",
}


def table(name: str) -> str:
    """Return the table of a struct's fields."""
    lines = ["| field | default | meaning |", "|---|---|---|"]
    for field in msgspec.structs.fields(STRUCTS[name]):
        meaning = TABLES[name][field.name]
        more = f" ({SECTIONS[field.name]})" if name == "Board" and field.name in SECTIONS else ""
        lines.append(f"| `{field.name}` |{_default(field)} | {meaning[0].upper()}{meaning[1:]}{more} |")
    return "\n".join(lines)


def _default(field: msgspec.structs.FieldInfo) -> str:
    value = field.default_factory() if field.default_factory is not msgspec.NODEFAULT else field.default
    if value is msgspec.NODEFAULT or value is None:
        return ""
    return f" `{value if isinstance(value, str) else msgspec.json.encode(value).decode()}`"


def written(page: str) -> str:
    """Return the page with its tables as they have to be."""
    assert STRUCTS.keys() == TABLES.keys(), "every table of fields is in the document"
    for name in STRUCTS:
        pattern = rf"(<!-- fields of {name} -->\n).*?(\n<!-- end -->)"
        assert re.search(pattern, page, re.DOTALL), f"{PAGE.name} has no place for the fields of {name}"
        page = re.sub(pattern, lambda match, name=name: match[1] + table(name) + match[2], page, flags=re.DOTALL)
    return page


def main() -> None:
    """Write or check the page."""
    page = PAGE.read_text(encoding="utf-8")
    if "--check" not in sys.argv:
        PAGE.write_text(written(page), encoding="utf-8")
    elif written(page) != page:
        sys.exit(f"{PAGE.name} is not up to date: run 'make docs'")


if __name__ == "__main__":
    main()
