"""All groups of a broker, of the classic protocol, of KIP-848's and share groups, with their offsets."""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from kcli.broker.groups.committed import Committed
from kcli.broker.groups.consumer.classic import move_back, move_to
from kcli.broker.groups.consumer.group import ConsumerGroup
from kcli.broker.groups.group import Group
from kcli.broker.groups.members_log import MembersLog
from kcli.broker.groups.offsets import OffsetStore
from kcli.broker.groups.state import State
from kcli.broker.metadata.controller import Controller
from kcli.broker.partition import Key, Partition
from kcli.broker.share.group import ShareGroup
from kcli.broker.share.partition import SharePartition
from kcli.broker.share.state_log import ShareStateLog
from kcli.errors import InputError
from kcli.records.acceptance import RefusedError

AnyGroup = Group | ConsumerGroup | ShareGroup
Turned = TypeVar("Turned", Group, ConsumerGroup)
New = TypeVar("New", ConsumerGroup, ShareGroup)


class Groups:
    """The groups by id. note: called with a line about stored state that can't be read."""

    def __init__(self, controller: Controller, note: Callable[[str], None]) -> None:
        self.configs, self.clock = controller.configs, controller.replicas.clock
        self.topics, self.controller = controller.topics, controller
        self.store = OffsetStore(controller, note)
        self.members_log = MembersLog(self.store.topic)
        self.share_log = ShareStateLog(controller, note)
        self.by_id: dict[str, AnyGroup] = {}
        self._load()

    def _load(self) -> None:
        """Load committed offsets, groups with members, and the state of share groups from their topics."""
        for group_id, place, committed, producer in self.store.load(self.members_log.take):
            known = self.get_or_make(group_id)
            offsets = known.offsets if producer < 0 else known.pending_offsets.setdefault(producer, {})
            if committed is None:
                offsets.pop(place, None)
            else:
                apply_commits(offsets, {place: committed})
        for each in [one for one in self.by_id.values() if not one.offsets and not one.pending_offsets]:
            del self.by_id[each.id]
        self.members_log.load(self._made)
        shares = {(each.group, each.key): each for each in self.share_log.load()}
        for share in shares.values():
            group, partition = self.by_id.get(share.group), self.topics.find(share.key, True)
            if isinstance(group, ShareGroup) and partition is not None and share.start is not None:
                self.share_from(group, share.key, partition, share.start).restore(share.kept)

    def _made(self, group_id: str, kind: type[AnyGroup]) -> tuple[AnyGroup, float]:
        """Return a group of a kind to restore, with its session timeout in seconds (0 for a classic group)."""
        if kind is Group:
            return self.get_or_make(group_id), 0.0
        timeout = self.controller.group_number(group_id, f"{kind.type}.session.timeout.ms") / 1000
        if kind is ShareGroup:
            return self.share_group(group_id, joins=True), timeout
        return self.consumer_group(group_id, joins=True), timeout

    def __iter__(self) -> Iterator[AnyGroup]:
        return iter(self.by_id.values())

    def get(self, group_id: str) -> AnyGroup | None:
        """Return the group with this id; None if there is none."""
        return self.by_id.get(group_id)

    def get_or_make(self, group_id: str) -> AnyGroup:
        """Return the group with this id; create an empty classic group if there is none."""
        return self.by_id.get(group_id) or self._make_classic(group_id)

    def classic(self, group_id: str) -> Group | None:
        """Return the group with this id if it is a classic one, else None."""
        group = self.by_id.get(group_id)
        return group if isinstance(group, Group) else None

    def classic_to_join(self, group_id: str) -> Group | None:
        """Return the group for a member that joins by the classic protocol; create it if there is none. An empty
        consumer group is converted. None for a consumer group with members, or a share group.
        """
        group = self.by_id.get(group_id)
        if isinstance(group, ConsumerGroup):
            if group.members:
                return None
            self.members_log.forget(group_id)
            return self._turned(group, self._make_classic(group_id))
        if isinstance(group, ShareGroup):
            return None
        return group or self._make_classic(group_id)

    def consumer_group(self, group_id: str, *, joins: bool) -> ConsumerGroup:
        """Return a consumer group. For a join it is created if needed, or a classic group is converted.
        Raises RefusedError if there is none, or the classic group can't be converted.
        """
        group = self.by_id.get(group_id)
        if isinstance(group, ConsumerGroup):
            return group
        if not joins or isinstance(group, ShareGroup):
            return self.known(group_id, ConsumerGroup)
        made = ConsumerGroup(group_id, self.topics, self.clock, self._changed)
        if group is not None and group.state is not State.EMPTY:
            self._upgrade(group, made)
        self.by_id[group_id] = made
        return made if group is None else self._turned(group, made)

    def _upgrade(self, group: Group, made: ConsumerGroup) -> None:
        """Move the members of a classic group to a consumer group. Raises RefusedError if that is not possible."""
        refused = f"Cannot upgrade classic group {group.id} to consumer group because"
        if self.policy not in ("upgrade", "bidirectional"):
            raise RefusedError("GROUP_ID_NOT_FOUND", f"{refused} online upgrade is disabled.")
        if group.protocol_type != made.protocol_type:
            raise RefusedError("GROUP_ID_NOT_FOUND", f"{refused} it does not use the consumer embedded protocol.")
        if len(group.members) > self.configs.int("group.consumer.max.size"):
            raise RefusedError("GROUP_ID_NOT_FOUND", f"{refused} it has too many members.")
        timeout = self.controller.group_number(group.id, "consumer.session.timeout.ms") / 1000
        try:
            move_to(made, group, timeout)
        except InputError as error:
            raise RefusedError(
                "GROUP_ID_NOT_FOUND", f"{refused} its members' metadata can't be read: {error}"
            ) from None

    @property
    def policy(self) -> str:
        """Return the value of group.consumer.migration.policy in lower case."""
        return self.configs.text("group.consumer.migration.policy").lower()

    def _changed(self, group: ConsumerGroup) -> None:
        """Store a consumer group. If only members of the classic protocol are left, turn it into a classic group."""
        if self.by_id.get(group.id) is not group:
            return
        stays = not group.members or any(each.classic is None for each in group.members.values())
        if stays or self.policy not in ("downgrade", "bidirectional"):
            self.members_log.save(group)
            return
        self.members_log.forget(group.id)
        made = self._make_classic(group.id)
        move_back(made, group)
        self._turned(group, made)
        self.members_log.save(made)

    def share_group(self, group_id: str, *, joins: bool) -> ShareGroup:
        """Return a share group; create it for a join.

        Raises RefusedError if there is none, or a group of another type.
        """
        if joins and group_id not in self.by_id:
            self.by_id[group_id] = ShareGroup(group_id, self.topics, self.clock, self.members_log.save)
        return self.known(group_id, ShareGroup)

    def share_from(self, group: ShareGroup, key: Key, partition: Partition, start: int) -> SharePartition:
        """Share a partition with a group from the offset `start` on."""
        replicas = self.controller.replicas

        def keep(share: SharePartition) -> None:
            self.share_log.write(group.id, key, share)

        made = SharePartition(start, self.clock, lambda: replicas.changed(partition), keep)
        group.partitions[key] = made
        return made

    def forget_shared(self, group: ShareGroup, topic_id: str) -> None:
        """Delete a share group's state for a topic."""
        for key in group.forget(topic_id):
            self.share_log.write(group.id, key, None)

    def known(self, group_id: str, kind: type[New]) -> New:
        """Return the group with this id and kind. Raises RefusedError if there is none, or it is of another kind."""
        group = self.by_id.get(group_id)
        if isinstance(group, kind):
            return group
        reason = "not found" if group is None else f"is not a {kind.type} group"
        raise RefusedError("GROUP_ID_NOT_FOUND", f"Group {group_id} {reason}.")

    def _make_classic(self, group_id: str) -> Group:
        delay = self.configs.int("group.initial.rebalance.delay.ms") / 1000
        made = self.by_id[group_id] = Group(group_id, delay, self.clock, self.members_log.save)
        return made

    @staticmethod
    def _turned(former: AnyGroup, made: Turned) -> Turned:
        """Move the committed offsets of a group to the one that replaces it."""
        made.offsets, made.pending_offsets = former.offsets, former.pending_offsets
        former.close()
        return made

    def commit(
        self, group: AnyGroup, offsets: Mapping[tuple[str, int], Committed], producer: tuple[int, int] | None = None
    ) -> None:
        """Commit offsets. producer: (id, epoch) of the producer whose transaction has to be committed first, None for
        no transaction. Raises OSError; then nothing is committed.
        """
        first = self.store.write(group.id, offsets, producer)
        pending = group.offsets if producer is None else group.pending_offsets.setdefault(producer[0], {})
        for at, (place, each) in enumerate(offsets.items(), first):
            pending[place] = each._replace(written=at)

    def end_transaction(self, producer_id: int, *, commit: bool) -> None:
        """Apply or drop the offsets that were committed in a producer's transaction."""
        for group in self.by_id.values():
            offsets = group.pending_offsets.pop(producer_id, None)
            if offsets and commit:
                apply_commits(group.offsets, offsets)

    def delete(self, group: AnyGroup) -> bool:
        """Delete a group; return False if it has members."""
        if group.state not in (State.EMPTY, State.DEAD):
            return False
        self.drop(group)
        return True

    def drop(self, group: AnyGroup) -> None:
        """Delete a group with its members and committed offsets. Raises OSError; then its offsets are still on disk."""
        self.store.write(group.id, dict.fromkeys(group.offsets))
        self.members_log.forget(group.id)
        if isinstance(group, ShareGroup):
            for topic_id in {topic for topic, _ in group.partitions}:
                self.forget_shared(group, topic_id)
        group.close()
        del self.by_id[group.id]

    def forget_offsets(self, group: AnyGroup, places: list[tuple[str, int]]) -> None:
        """Delete committed offsets of a group, by (topic, partition). Raises OSError; then none was deleted."""
        self.store.write(group.id, dict.fromkeys(places))
        for each in places:
            group.offsets.pop(each, None)

    def forget_topic(self, topic: str, topic_id: str) -> None:
        """Delete the offsets of a deleted topic, and its state in share groups."""
        if topic == self.store.topic.name:
            self.members_log.tables.clear()  # the written records are gone
        for group in self.by_id.values():
            places = [place for place in group.offsets if place[0] == topic]
            if places:
                self.forget_offsets(group, places)
            if isinstance(group, ShareGroup):
                self.forget_shared(group, topic_id)

    def forget(self) -> None:
        """Drop all groups with their members and committed offsets from memory."""
        self.close()
        self.by_id.clear()
        self.members_log.tables.clear()

    def close(self) -> None:
        """Stop all timers."""
        for each in self.by_id.values():
            each.close()


def apply_commits(offsets: dict[Key, Committed], commits: Mapping[Key, Committed]) -> None:
    """Update offsets by commits, but for those whose record is older."""
    for place, each in commits.items():
        if place not in offsets or offsets[place].written < each.written:
            offsets[place] = each
