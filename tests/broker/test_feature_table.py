"""The table of docs/how-to/testing.md that lays the broker beside others: each of kcli's cells is shown by tests."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from tests.broker.processes import Served
from tests.processes import running

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "how-to" / "testing.md"
CONTROL = "broker/control/test_control.py"
CLIENTS = "real/test_broker_clients.py"
ELECTIONS = "broker/metadata/test_elections.py"
CLEANER = "broker/storage/test_cleaner.py"
TRANSACTIONS = "broker/transactions/test_coordinator.py"
CONSUMERS = "broker/groups/consumer"
SHARES = "broker/apis/test_share.py"
SECURITY = "broker/security"
# By row: the tests that fail where the cell is not true.
SHOWN = {
    "runs without Docker or a JVM": ("broker/test_feature_table.py::test_nothing_but_this_python_runs",),
    "for clients in any language": (
        f"{CLIENTS}::test_java", f"{CLIENTS}::test_kcat", f"{CLIENTS}::test_confluent_kafka",
        f"{CLIENTS}::test_kafka_python", f"{CLIENTS}::test_aiokafka",
        "broker/control/test_admin_port.py::test_a_program_controls_a_broker",
        "broker/control/test_other_languages.py::test_the_example_runs",
    ),
    "errors for some requests, by rule": (
        "broker/test_faults.py::test_errors_of_other_apis", "broker/test_faults.py::test_after_every_and_client",
        "broker/test_embedded.py::test_rules_answer_requests", "real/test_broker_faults.py::test_java",
    ),
    "an error for one partition, the others answered": (
        f"{CONTROL}::test_a_faulted_partition_is_not_written_and_the_others_are",
        "broker/test_faults.py::test_an_error_for_a_partition_so_often",
    ),
    "a function answers in the broker's place": (
        f"{CONTROL}::test_a_function_answers_in_the_brokers_place",
        f"{CONTROL}::test_a_function_may_wait_and_may_use_the_broker",
    ),
    "requests decoded, kept and shown when a test fails": (
        f"{CONTROL}::test_requests_are_seen_decoded", f"{CONTROL}::test_the_journal_is_bounded",
        "broker/control/test_pytest_plugin.py::test_a_failure_shows_the_latest_requests_of_the_client_that_failed",
    ),
    "a clock that is put forward": (
        f"{CONTROL}::test_the_clock_is_put_forward_and_what_waits_for_it_happens",
        f"{CONTROL}::test_a_long_poll_follows_the_clock",
    ),
    "transactions, read_committed": (
        f"{TRANSACTIONS}::test_what_is_committed_is_read_and_what_is_aborted_is_named",
        f"{TRANSACTIONS}::test_a_new_producer_fences_the_one_before",
        "broker/apis/records/test_fetch.py::test_read_committed", f"{CLIENTS}::test_java_in_transactions",
    ),
    "nodes that stop, leaders and coordinators move": (
        f"{ELECTIONS}::test_another_replica_leads", f"{ELECTIONS}::test_coordinators_are_found_by_hash_and_move",
        "real/test_broker_leaders.py::test_java_follows_fifty_moves",
    ),
    "compaction": (
        f"{CLEANER}::test_the_latest_record_of_each_key_stays", f"{CLEANER}::test_the_cleaner_runs_by_itself",
        f"{CLEANER}::test_transactions",
    ),
    "KIP-848": (
        f"{CONSUMERS}/test_group.py::test_partitions_move_when_they_are_given_back",
        f"{CONSUMERS}/test_classic.py::test_a_group_goes_to_the_new_protocol_and_back",
        f"{CONSUMERS}/test_heartbeats.py::test_librdkafka_shares_partitions_and_commits",
    ),
    "share groups": (
        f"{SHARES}::test_members_share_partitions",
        f"{SHARES}::test_records_are_fetched_acknowledged_and_fetched_again",
    ),
    "TLS, SASL": (
        f"{SECURITY}/test_listener_tls.py::test_clients_that_trust_the_ca_are_served",
        f"{SECURITY}/test_security.py::test_tls_with_certificates_of_clients",
        f"{SECURITY}/test_login.py::test_users_log_in", f"{SECURITY}/test_oauth.py::test_signed_tokens",
    ),
    "ACLs": (
        f"{SECURITY}/test_security.py::test_acls_are_made_kept_described_and_deleted",
        f"{SECURITY}/test_security.py::test_what_alice_may_not_do_is_refused_and_what_she_may_is_done",
    ),
    "data on disk in Kafka's layout": (
        "broker/test_broker.py::test_the_folder_is_kafkas",
        f"{CLIENTS}::test_the_files_pass_kafkas_dump_log_and_kclis_verify",
    ),
}  # fmt: skip


def table() -> dict[str, str]:
    """Return kcli's cells, by the text of their rows."""
    text = PAGE.read_text()
    rows = [line for line in text[text.index("## Comparison") :].splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    column = cells[0].index("kcli")
    return {row[0]: row[column] for row in cells[2:]}


def test_each_cell_is_shown_by_tests() -> None:
    cells = table()
    assert cells.keys() == SHOWN.keys()
    assert set(cells.values()) == {"yes"}  # another word is another claim: it needs tests of its own


@pytest.mark.parametrize("name", sorted({each for shown in SHOWN.values() for each in shown}))
def test_those_tests_run(name: str) -> None:
    path, _, function = name.partition("::")
    made = {each.name: each for each in ast.parse((TESTS / path).read_text()).body if isinstance(each, ast.FunctionDef)}
    assert function in made
    marks = [ast.unparse(each) for each in made[function].decorator_list]
    assert not [each for each in marks if "skip" in each or "xfail" in each]


def test_nothing_but_this_python_runs(tmp_path: Path) -> None:
    """A broker serves where no program is to be found, and starts none."""
    command = [sys.executable, "-m", "kcli.cli", "broker", "serve", "--port", "0", "--quiet"]
    alone = {"PATH": str(tmp_path), "HOME": str(tmp_path), "LANG": "C.UTF-8"}
    pipe = subprocess.PIPE
    with running(subprocess.Popen(command, env=alone, stdout=pipe, stderr=pipe, text=True)) as process:
        bootstrap = Served(process).bootstrap
        producer = Producer({"bootstrap.servers": bootstrap})
        producer.produce("t", b"a")
        assert producer.flush(60) == 0
        consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "g", "auto.offset.reset": "earliest"})
        consumer.subscribe(["t"])
        [message] = consumer.consume(1, 60)
        consumer.close()
        assert message.value() == b"a"
        parents = [(each / "stat").read_text().rpartition(")")[2].split()[1] for each in Path("/proc").glob("[0-9]*")]
        assert str(os.getpid()) in parents
        assert str(process.pid) not in parents
