"""The exchanges whose rows are made one by one, and the functions that make them."""

from collections.abc import Container

from kcli.pipeline.rows.group_calls import put_commit, put_leave, put_member_call
from kcli.pipeline.rows.metadata_calls import MetadataRows
from kcli.pipeline.rows.refused_records import put_refused_records
from kcli.pipeline.rows.share_calls import put_share_call
from kcli.pipeline.rows.single_rows import MAKERS, Maker
from kcli.pipeline.rows.transaction_calls import put_sasl_call, put_topic_changes, put_transaction_call
from kcli.pipeline.rows.uncommitted import put_uncommitted
from kcli.schemas import apikeys

OF_MEMBERS = (
    apikeys.JOIN_GROUP, apikeys.SYNC_GROUP, apikeys.HEARTBEAT, apikeys.CONSUMER_GROUP_HEARTBEAT,
    apikeys.SHARE_GROUP_HEARTBEAT, apikeys.STREAMS_GROUP_HEARTBEAT,
)  # fmt: skip
OF_TRANSACTIONS = (
    apikeys.INIT_PRODUCER_ID, apikeys.ADD_PARTITIONS_TO_TXN, apikeys.ADD_OFFSETS_TO_TXN, apikeys.END_TXN,
    apikeys.TXN_OFFSET_COMMIT,
)  # fmt: skip
OF_METADATA = (apikeys.METADATA, apikeys.FIND_COORDINATOR, apikeys.VOTE, apikeys.BEGIN_QUORUM_EPOCH)
SAID = "called"  # the table of exchanges by what they say
SAID_LINKS = "called_links"  # the table of their connections


def makers_for(wanted: Container[str]) -> dict[int, Maker]:
    """Return the function for each API that puts its rows. wanted: names of tables."""
    return MAKERS | said_makers() if SAID in wanted else dict(MAKERS)


def said_makers() -> dict[int, Maker]:
    """Return the functions that put the rows stored with `kcli.pipeline.rows.sayings`, by API."""
    of_metadata = MetadataRows().put
    return {
        **dict.fromkeys(OF_MEMBERS, put_member_call),
        **dict.fromkeys(OF_TRANSACTIONS, put_transaction_call),
        **dict.fromkeys(OF_METADATA, of_metadata),
        **dict.fromkeys((apikeys.SASL_HANDSHAKE, apikeys.SASL_AUTHENTICATE), put_sasl_call),
        **dict.fromkeys((apikeys.CREATE_TOPICS, apikeys.DELETE_TOPICS), put_topic_changes),
        **dict.fromkeys((apikeys.SHARE_FETCH, apikeys.SHARE_ACKNOWLEDGE), put_share_call),
        apikeys.LEAVE_GROUP: put_leave,
        apikeys.PRODUCE: put_refused_records,
        apikeys.OFFSET_COMMIT: put_commit,
        apikeys.OFFSET_FETCH: put_uncommitted,
    }
