"""Composition: every part of one process, by name, built in one place.

Parts are built from the bottom up, each from parts that exist already. If two need each other, both use a third that was
built before them: `changes` (remembered answers are old), `behind` (boards whose scores wait for the engine), `bases` (which checkpoint
rankings rest on), `identity` (the writer number), `write_pause`. What the write path needs of other rooms is a protocol
(`writing/protocols.py`), and is wired here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from keepscore.access.environments import LIVE
from keepscore.access.keys import Keys
from keepscore.access.play_tokens import PlayTokens
from keepscore.access.playing import Plays
from keepscore.domain.boards import Board
from keepscore.domain.caps import DEFAULT_CAPS, Caps
from keepscore.domain.certificates import Signer
from keepscore.domain.friends import ONE_WAY, FriendRules
from keepscore.domain.mirrors import NO_MIRROR, MirrorKeys
from keepscore.domain.outside_channels import NO_CHANNELS, OutsideChannels
from keepscore.domain.profiles import NO_CARD
from keepscore.domain.webhooks import WebhookTarget
from keepscore.fairplay.addresses import Addresses
from keepscore.fairplay.anomalies import AnomalyWatch
from keepscore.fairplay.appeals import Appeals
from keepscore.fairplay.audit import Audit
from keepscore.fairplay.erasing import Erasing, Memories
from keepscore.fairplay.job import FinishErasures, FinishReviews, FinishVoids, NoteAddresses, NoteScores, RestorePlayers
from keepscore.fairplay.moderation import Decisions, Moderation
from keepscore.fairplay.prize_job import DecidePrizes
from keepscore.fairplay.prize_windows import PrizeWindows
from keepscore.fairplay.prizes import Prizes
from keepscore.fairplay.restricting import Restricting
from keepscore.fairplay.review import Review
from keepscore.fairplay.rules import BoardRules
from keepscore.fairplay.signed_receipts import SignedReceipts
from keepscore.fairplay.voids import Voids
from keepscore.fairplay.webhook_sender import WebhookSender
from keepscore.fairplay.webhooks import Deliver, Webhooks
from keepscore.lifecycle.administration import Administration
from keepscore.lifecycle.definitions import Definitions
from keepscore.lifecycle.jobs.checkpoints import Checkpoints
from keepscore.lifecycle.jobs.refreshing import CatchingUp
from keepscore.lifecycle.keeper import Keeper
from keepscore.lifecycle.parts import JobParts
from keepscore.lifecycle.readiness import Readiness
from keepscore.lifecycle.rebuild import Rebuilds
from keepscore.lifecycle.relearning import Relearning
from keepscore.lifecycle.vitals import VitalSigns
from keepscore.players.enrolment import Enrolment
from keepscore.players.following import Following
from keepscore.players.friends import FriendLists, Friends
from keepscore.players.friendships import KnownFriendships
from keepscore.players.groups import Groups
from keepscore.players.job import FollowProfiles
from keepscore.players.league_job import DecideLeagues
from keepscore.players.leagues import Leagues
from keepscore.players.matches import Matches
from keepscore.players.mirror import Mirror, MirroredOrigins
from keepscore.players.notes import Notes
from keepscore.players.profiles import Players, ProfileChanges
from keepscore.players.screens import Screens
from keepscore.projection.adoption import Adoption
from keepscore.projection.behind import Behind
from keepscore.projection.changes import Changes
from keepscore.projection.checkpoint_bases import CheckpointBases
from keepscore.projection.homes import open_engine
from keepscore.projection.live_boards import Catalog
from keepscore.projection.restate import Restater
from keepscore.projection.stores import Stores
from keepscore.reading.among import Among
from keepscore.reading.cards import Cards
from keepscore.reading.explanations import Explainer, Explanations
from keepscore.reading.history import History
from keepscore.reading.live.hub import DEFAULT_TIMES, LiveHub, LiveParts, LiveTimes
from keepscore.reading.reader import Reader
from keepscore.storage.engines.base import RankingEngine
from keepscore.storage.feeds.base import Feed
from keepscore.storage.ledgers.base import Ledger
from keepscore.writing.announcing import Announcer
from keepscore.writing.applier import Applier
from keepscore.writing.catching_up import CatchUp
from keepscore.writing.engine_checks import EngineChecks
from keepscore.writing.healing import Healing
from keepscore.writing.idempotency import Claims, Retries
from keepscore.writing.identity import WriterIdentity
from keepscore.writing.imports import Imports
from keepscore.writing.ledger_watch import LedgerWatch
from keepscore.writing.numbers import Numbers
from keepscore.writing.parts import WriteParts
from keepscore.writing.receipts import Receipts
from keepscore.writing.recorder import Recorder
from keepscore.writing.segment_cap import SegmentCap
from keepscore.writing.spool import Spool
from keepscore.writing.submissions import Submissions
from keepscore.writing.write_pause import WritePause
from keepscore.writing.writer import Writer

__all__ = ["KEEP_KEYS_MS", "KeeperMode", "Runtime", "RuntimeSettings", "build_runtime"]

#: Milliseconds for which idempotency keys are remembered: seven days.
KEEP_KEYS_MS = 7 * 86_400_000

#: Whether the keeper does its jobs by itself, or only when it is asked to (`lb.admin.run_keeper()`, `runtime.keeper.job(…)`).
KeeperMode = Literal["automatic", "manual"]


@dataclass(frozen=True, kw_only=True, slots=True)
class RuntimeSettings:
    """What a process needs to know when it starts."""

    #: Boards beside those that the ledger knows.
    boards: Sequence[Board] = ()
    #: Milliseconds for which idempotency keys are remembered.
    keep_keys_ms: int = KEEP_KEYS_MS
    #: Milliseconds for which events are kept before they are folded and dropped; None: for ever.
    keep_events_ms: int | None = None
    keeper: KeeperMode = "automatic"
    #: The environment whose API keys are created and known.
    environment: str = LIVE
    #: How many boards and segment values there may be.
    caps: Caps = DEFAULT_CAPS
    #: How often live subscribers hear something.
    live: LiveTimes = DEFAULT_TIMES
    #: Whether friendship is mutual, and how many friends there may be.
    friends: FriendRules = ONE_WAY
    #: Keys in Redis that other services read.
    mirror: MirrorKeys = NO_MIRROR
    #: Where messages about rewards go; None: nowhere, they wait.
    webhook: WebhookTarget | None = None
    #: Where programs outside hear of ranks and windows.
    channels: OutsideChannels = NO_CHANNELS


@dataclass(frozen=True, kw_only=True, slots=True)
class Runtime:
    """The parts of one process."""

    settings: RuntimeSettings
    # What everything rests on.
    clock: Callable[[], int]
    ledger: Ledger
    engine: RankingEngine
    feed: Feed
    catalog: Catalog
    # What several parts know.
    changes: Changes
    behind: Behind
    bases: CheckpointBases
    identity: WriterIdentity
    write_pause: WritePause
    # From the ledger to the engine.
    adoption: Adoption
    watch: LedgerWatch
    restater: Restater
    healing: Healing
    spool: Spool
    # The way in.
    retries: Retries
    claims: Claims
    numbers: Numbers
    receipts: Receipts
    recorder: Recorder
    applier: Applier
    writer: Writer
    catch_up: CatchUp
    submissions: Submissions
    imports: Imports
    # Who may do what.
    plays: Plays
    keys: Keys
    # The way out.
    reader: Reader
    live: LiveHub
    cards: Cards
    history: History
    # What happens with time.
    definitions: Definitions
    checkpoints: Checkpoints
    rebuilds: Rebuilds
    keeper: Keeper
    admin: Administration
    players: Players
    mirror: Mirror
    friends: Friends
    groups: Groups
    among: Among
    explainer: Explainer
    explain: Explanations
    screens: Screens
    review: Review
    leagues: Leagues
    matches: Matches
    appeals: Appeals
    moderation: Moderation
    prizes: Prizes
    webhooks: Webhooks
    audit: Audit
    readiness: Readiness
    vitals: VitalSigns

    async def start(self) -> None:
        """Load all boards, and start to take submissions and to run the keeper."""
        await self.catalog.restrictions.refresh(self.ledger, self.clock(), at_once=True)
        await self.definitions.load()
        if not self.definitions.unloaded:
            await self.spool.drain()
        await self.cards.learn()
        self.reader.versions.begin()
        self.writer.start()
        if self.settings.keeper == "automatic":
            self.keeper.start()

    async def stop(self, deadline: float | None = None) -> None:
        """Finish running work, by a `deadline` of the loop's clock, and close everything."""
        await self.live.close()
        await self.claims.stop(deadline)
        await self.writer.stop(deadline)
        await self.mirror.settle()
        await self.keeper.stop(deadline)
        await self.close()

    async def close(self) -> None:
        """Close feed, engine and ledger, whatever is running."""
        await self.feed.close()
        await self.engine.close()
        await self.ledger.close()


async def build_runtime(
    *, ledger: Ledger, engine: RankingEngine, feed: Feed, clock: Callable[[], int], settings: RuntimeSettings
) -> Runtime:
    """Open ledger, engine and feed, and build all parts on them. Close all three if that fails; `start` does the rest."""
    number = await ledger.open(clock())
    try:
        secret = await ledger.marks.secret()
        await open_engine(ledger, engine, hashlib.sha256(secret).hexdigest()[:12])
        await feed.open()
        identity = WriterIdentity(number, ledger, engine, clock)
        await identity.make_unused()
        await identity.fill_reserve()
    except BaseException:
        await feed.close()
        await engine.close()
        await ledger.close()
        raise
    catalog = Catalog(clock, settings.caps.boards)
    stores, is_shared = Stores(catalog, ledger, engine, clock), engine.is_shared

    changes = Changes()
    behind = Behind(catalog, changes)
    bases, write_pause = CheckpointBases(), WritePause()

    adoption = Adoption(stores, changes)
    watch = LedgerWatch(stores)
    restater = Restater(catalog, ledger, engine)
    healing = Healing(stores, identity, adoption, bases, watch, restater)
    spool = Spool(stores, identity, watch)

    reader = Reader(stores, feed, secret, healing, behind, changes)
    among = Among(stores, reader)
    friend_lists = FriendLists(stores, settings.friends)
    reader.labels.friendships = KnownFriendships(friend_lists)
    cards = reader.cards
    following, enrolment = Following(stores, cards), Enrolment(stores, feed)

    retries = Retries(ledger)
    addresses, mirror = Addresses(ledger, secret), Mirror(engine.mirror, settings.mirror)
    watched = AnomalyWatch(stores, addresses)
    rules = BoardRules(ledger, is_shared, watched)
    parts = WriteParts(
        stores=stores,
        identity=identity,
        watch=watch,
        behind=behind,
        restater=restater,
        healing=healing,
        spool=spool,
        write_pause=write_pause,
        retries=retries,
        rules=rules,
        origins=MirroredOrigins(addresses, mirror),
        segments=following,
        announcer=Announcer(feed, settings.channels),
        arrivals=enrolment,
    )
    definitions = Definitions(parts, adoption, bases, changes, settings.boards)

    numbers = Numbers(parts, Relearning(definitions, cards))
    signer = Signer(secret)
    receipts = Receipts(stores, healing, retries, SignedReceipts(signer))
    segment_cap = SegmentCap(stores, settings.caps.segment_values)
    recorder = Recorder(parts, numbers, EngineChecks(stores, watch, healing), receipts, segment_cap)
    applier = Applier(stores, healing, restater, behind)
    writer = Writer(parts, recorder, applier, receipts, feed)
    catch_up, plays = CatchUp(parts, numbers), Plays(stores, PlayTokens(secret, settings.keep_keys_ms))
    claims = Claims(ledger, identity.number, is_shared, clock)
    imports = Imports(stores, writer)

    job_parts = JobParts(
        catalog=catalog,
        ledger=ledger,
        engine=engine,
        clock=clock,
        healing=healing,
        restater=restater,
        bases=bases,
        numbers=numbers,
        write_pause=write_pause,
        writer=writer,
        catch_up=catch_up,
        spool=spool,
        watch=watch,
        claims=claims,
        keep_keys_ms=settings.keep_keys_ms,
        keep_events_ms=settings.keep_events_ms,
    )
    checkpoints = Checkpoints(job_parts, CatchingUp(job_parts))
    rebuilds = Rebuilds(parts, definitions, checkpoints, feed)
    voids = Voids(job_parts, rebuilds)
    review = Review(job_parts, rebuilds, addresses)
    restricting = Restricting(job_parts, rebuilds, feed)
    forgetting = [rules.forget, addresses.forget, enrolment.forget_player, mirror.forget]
    erasing = Erasing(job_parts, rebuilds, feed, secret, Memories(forgetting, lambda player: cards.put({player: NO_CARD})))
    prize_windows = PrizeWindows(job_parts, signer)
    sender = None if settings.webhook is None else WebhookSender(settings.webhook)
    fair_play = [
        *(FinishVoids(job_parts, voids), FinishReviews(job_parts, review), FinishErasures(job_parts, erasing)),
        NoteAddresses(job_parts, addresses),
        NoteScores(job_parts, watched),
        RestorePlayers(job_parts, restricting),
        FollowProfiles(job_parts, following),
        *(DecidePrizes(prize_windows), DecideLeagues(job_parts, enrolment)),
        Deliver(job_parts, sender),
    ]
    keeper = Keeper(job_parts, checkpoints, definitions, rebuilds, cards, fair_play)
    appeals = Appeals(stores, voids, review)
    players = Players(stores, claims, reader, ProfileChanges(lambda changed: following.move(changed, writer), mirror.show))
    return Runtime(
        settings=settings,
        clock=clock,
        ledger=ledger,
        engine=engine,
        feed=feed,
        catalog=catalog,
        changes=changes,
        behind=behind,
        bases=bases,
        identity=identity,
        write_pause=write_pause,
        adoption=adoption,
        watch=watch,
        restater=restater,
        healing=healing,
        spool=spool,
        retries=retries,
        claims=claims,
        numbers=numbers,
        receipts=receipts,
        recorder=recorder,
        applier=applier,
        writer=writer,
        catch_up=catch_up,
        submissions=Submissions(parts, writer, plays, Notes(players, cards)),
        imports=imports,
        plays=plays,
        keys=Keys(stores, settings.environment),
        reader=reader,
        live=LiveHub(stores, LiveParts(reader, feed, changes, friend_lists.of), settings.live),
        cards=cards,
        history=History(stores, reader),
        definitions=definitions,
        checkpoints=checkpoints,
        rebuilds=rebuilds,
        keeper=keeper,
        admin=Administration(stores, claims, definitions, rebuilds, keeper, imports),
        mirror=mirror,
        friends=Friends(friend_lists, reader, among, mirror),
        groups=Groups(stores, claims, settings.caps, reader, among),
        among=among,
        explainer=Explainer(stores, reader),
        explain=Explanations(stores, reader),
        screens=Screens(friend_lists, among),
        leagues=Leagues(stores, reader, enrolment),
        matches=Matches(stores, writer, retries, reader.labels),
        review=review,
        appeals=appeals,
        players=players,
        prizes=Prizes(prize_windows, claims),
        webhooks=Webhooks(ledger, clock, sender is not None),
        moderation=Moderation(Decisions(voids, review, restricting, erasing), appeals, addresses, claims),
        audit=Audit(ledger.audit),
        readiness=Readiness(parts, definitions.unloaded),
        vitals=VitalSigns(parts),
    )
