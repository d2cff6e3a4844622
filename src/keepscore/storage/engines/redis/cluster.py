"""The nodes of a Redis Cluster, and which of them owns each slot.

Each node has its own connections and its own deadline, so that one that is down holds up nobody who needs another. Who owns what is
looked up in the background whenever a node says that it has changed, or does not answer; nobody waits for that.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Sequence
from typing import Any

from redis.crc import REDIS_CLUSTER_HASH_SLOTS, key_slot
from redis.exceptions import AskError, ClusterDownError, MovedError, TryAgainError

from keepscore.errors import EngineUnavailable
from keepscore.storage.engines.redis.nodes import Command, Node, is_refusal
from keepscore.storage.engines.redis.url import RedisAddress, node_client

__all__ = ["Cluster"]

#: Seconds between two looks at who owns what.
PAUSE_SECONDS = 0.1
#: How often a command follows a slot that moves, and the seconds that it waits where keys are on two nodes.
MAX_REDIRECTS, SPLIT_SECONDS = 16, 0.05

#: Host and port.
Address = tuple[str, int]

log = logging.getLogger(__name__)


class Cluster:
    """The Cluster at an address. `changed` is called whenever a slot has another owner, before that one is asked."""

    def __init__(self, address: RedisAddress, changed: Callable[[], None]) -> None:
        self._address = address
        self._changed = changed
        #: Nodes that were heard of; and the places of those that the Cluster has, or the address names.
        self._nodes: dict[Address, Node] = {}
        self._listed: set[Address] = set()
        self._owners: list[Node | None] = [None] * REDIS_CLUSTER_HASH_SLOTS
        self._search: asyncio.Task[None] | None = None
        self._closing = False
        for place in address.hosts:
            self._node(place)

    async def open(self) -> Node:
        """Look for the owners of slots for the first time, and give the node that has told; or raise what the driver says."""
        nodes = list(self._nodes.values())
        for node in nodes:
            try:
                async with asyncio.timeout(self._address.deadline):
                    self._learn(node, await node.client.execute_command("CLUSTER", "SLOTS"))
            except Exception as exc:
                if node is nodes[-1]:
                    raise
                log.debug("%s does not say who owns which slots: %s", node.shown, exc)
            else:
                return node
        raise AssertionError("an address names a host")

    async def close(self) -> None:
        """Close all connections."""
        self._closing = True
        if self._search is not None:
            self._search.cancel()
        for node in self._nodes.values():
            await node.close()

    def owner(self, key: str) -> Node:
        """Return the node that has a key, or raise EngineUnavailable where none has its slot."""
        slot = key_slot(key.encode())
        node = self._owners[slot]
        if node is None:
            self.search()
            raise EngineUnavailable(f"no node of the Cluster at {self._address.shown} has the slot {slot}: try again when one has")
        return node

    def owners(self) -> list[Node]:
        """Return the nodes that own slots."""
        return list(dict.fromkeys(node for node in self._owners if node is not None))

    async def ask(self, commands: Sequence[Command], seconds: float | None = None) -> list[Any]:
        """Run commands on the nodes that have their keys and give the answers, as `Node.ask` does."""
        end = asyncio.get_running_loop().time() + (seconds or self._address.deadline)
        owned: dict[Node, list[int]] = {}
        for i, command in enumerate(commands):
            owned.setdefault(self.owner(_key(command)), []).append(i)
        answers: list[Any] = [None] * len(commands)

        async def ask_node(node: Node, own: list[int]) -> None:
            try:
                found = await node.send([commands[i] for i in own], seconds)
            except EngineUnavailable as exc:
                found = [exc] * len(own)
            for i, answer in zip(own, found, strict=True):
                answers[i] = await self._followed(node, commands[i], answer, end)

        await asyncio.gather(*(ask_node(node, own) for node, own in owned.items()))
        return answers

    async def _followed(self, node: Node, command: Command, answer: Any, end: float) -> Any:
        """Follow redirections to the node that has a command's keys now. A node that redirects has done nothing."""
        for _ in range(MAX_REDIRECTS):
            if not is_refusal(answer):
                return answer
            sent = [command]
            if isinstance(answer, MovedError):
                node = self._moved(node, answer)
            elif isinstance(answer, AskError):
                # On its way there: this key is, the slot is not yet.
                node, sent = self._node(self._place(node, answer)), [("ASKING",), command]
            elif isinstance(answer, TryAgainError):
                await asyncio.sleep(SPLIT_SECONDS)
            else:
                if isinstance(answer, ClusterDownError):
                    self.search()
                return node.refusal(answer)
            left = end - asyncio.get_running_loop().time()
            if left <= 0:
                break
            try:
                *_, answer = await node.send(sent, left)
            except EngineUnavailable as exc:
                return exc
        return EngineUnavailable(f"the Cluster at {self._address.shown} moves what was asked for: {answer}. Try again")

    # -- who owns what --------------------------------------------------------------------------------------------------

    def search(self) -> None:
        """Look in the background who owns what, unless that is being done."""
        if self._search is None and not self._closing:
            self._search = asyncio.create_task(self._look())

    async def _look(self) -> None:
        try:
            nodes = [node for node in self._nodes.values() if not node.is_down]
            # Not all processes ask the same one.
            for node in random.sample(nodes, len(nodes)):
                try:
                    (found,) = await node.ask([("CLUSTER", "SLOTS")])
                except EngineUnavailable as exc:
                    found = exc
                if not isinstance(found, EngineUnavailable):
                    self._learn(node, found)
                    await self._leave_out()
                    break
                log.debug("%s does not say who owns which slots: %s", node.shown, found)
            await asyncio.sleep(PAUSE_SECONDS)
        finally:
            self._search = None

    def _learn(self, teller: Node, ranges: list[Any]) -> None:
        """Take over what a node tells: ranges of slots, each with its owner and that one's replicas."""
        owners: list[Node | None] = [None] * REDIS_CLUSTER_HASH_SLOTS
        self._listed = set(self._address.hosts)
        for first, last, *found in ranges:
            # A node that does not know its own address leaves it out.
            places = [((host or b"").decode() or teller.host, int(port)) for host, port, *_ in found]
            nodes = [self._node(place) for place in places]
            owners[first : last + 1] = [nodes[0]] * (last + 1 - first)
            self._listed.update(places)
        if owners != self._owners:
            self._owners = owners
            self._changed()

    async def _leave_out(self) -> None:
        """Close what leads to nodes that are no longer part of the Cluster."""
        for place in self._nodes.keys() - self._listed:
            await self._nodes.pop(place).close()

    def _moved(self, teller: Node, answer: MovedError) -> Node:
        """Take over that a slot has another owner."""
        node = self._node(self._place(teller, answer))
        if self._owners[answer.slot_id] is not node:
            self._owners[answer.slot_id] = node
            self._changed()
        # It has hardly moved alone.
        self.search()
        return node

    def _place(self, teller: Node, answer: AskError) -> Address:
        return answer.host or teller.host, answer.port

    def _node(self, place: Address) -> Node:
        node = self._nodes.get(place)
        if node is None:
            host, port = place
            node = self._nodes[place] = Node(
                f"redis+cluster://{host}:{port}",
                self._address.deadline,
                lambda connected: node_client(self._address, host, port, connected),
                self._changed,
                self.search,
            )
        return node


def _key(command: Command) -> str:
    """Return the first key of a command: in a script's, it comes after its text and the number of keys."""
    return str(command[3] if command[0] in ("EVAL", "EVALSHA") else command[1])
