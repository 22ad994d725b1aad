"""The house in order: a test file for each module, modules of a size to read, one list of public names each."""

from __future__ import annotations

import ast
import importlib
import json
import re
from pathlib import Path
from types import ModuleType

import pytest

import kcli

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests"
MOST_LINES = 300
PACKAGES = sorted({path.parent for path in (ROOT / "kcli").rglob("__init__.py")})
MODULES = sorted(path for path in (ROOT / "kcli").rglob("*.py*") if path.suffix in (".py", ".pyx"))
SOURCES = sorted(
    path for path in (ROOT / "kcli").rglob("*") if path.suffix in (".py", ".pyi", ".pyx", ".pxi", ".pxd", ".h")
)

CORE = sorted(
    path for path in (ROOT / "kcli/core").rglob("*") if path.suffix in (".py", ".pyx", ".pxi", ".pxd", ".pyi")
)

# Found by a registry and used by its names alone: what they offer is their table's business.
REGISTERED = ("kcli/broker/apis/", "kcli/records/codecs/")

# Modules that are tested in another file, by what uses them. Everything else has a test file at its own path.
TESTED_ELSEWHERE = {
    "kcli/report/metadata_questions.py": "tests/report/test_metadata.py",
    "kcli/broker/apis/add_offsets_to_txn.py": "tests/broker/transactions/test_coordinator.py",
    "kcli/broker/apis/add_partitions_to_txn.py": "tests/broker/transactions/test_coordinator.py",
    "kcli/broker/apis/describe_producers.py": "tests/broker/apis/test_transactions.py",
    "kcli/broker/apis/describe_transactions.py": "tests/broker/apis/test_transactions.py",
    "kcli/broker/apis/end_txn.py": "tests/broker/transactions/test_coordinator.py",
    "kcli/broker/apis/list_transactions.py": "tests/broker/apis/test_transactions.py",
    "kcli/broker/apis/txn_offset_commit.py": "tests/broker/transactions/test_coordinator.py",
    "kcli/broker/apis/alter_configs.py": "tests/broker/apis/test_admin.py",
    "kcli/broker/apis/alter_partition_reassignments.py": "tests/broker/apis/test_admin.py",
    "kcli/broker/apis/api_versions.py": "tests/broker/test_broker.py",
    "kcli/broker/apis/create_partitions.py": "tests/broker/apis/test_admin.py",
    "kcli/broker/apis/create_topics.py": "tests/broker/apis/test_admin.py",
    "kcli/broker/apis/delete_groups.py": "tests/broker/groups/test_offsets.py",
    "kcli/broker/apis/delete_records.py": "tests/broker/apis/test_admin.py",
    "kcli/broker/apis/delete_topics.py": "tests/broker/apis/test_admin.py",
    "kcli/broker/apis/describe_cluster.py": "tests/broker/apis/test_admin.py",
    "kcli/broker/apis/describe_configs.py": "tests/broker/apis/test_admin.py",
    "kcli/broker/apis/describe_groups.py": "tests/broker/groups/test_group.py",
    "kcli/broker/apis/describe_topic_partitions.py": "tests/broker/apis/test_admin.py",
    "kcli/broker/apis/elect_leaders.py": "tests/broker/apis/test_admin.py",
    "kcli/broker/apis/fetch_snapshot.py": "tests/broker/test_metadata_snapshots.py",
    "kcli/broker/apis/find_coordinator.py": "tests/broker/apis/test_admin.py",
    "kcli/broker/apis/heartbeat.py": "tests/broker/groups/test_group.py",
    "kcli/broker/apis/incremental_alter_configs.py": "tests/broker/apis/test_admin.py",
    "kcli/broker/apis/init_producer_id.py": "tests/broker/apis/test_admin.py",
    "kcli/broker/apis/join_group.py": "tests/broker/groups/test_group.py",
    "kcli/broker/apis/leave_group.py": "tests/broker/groups/test_group.py",
    "kcli/broker/apis/list_groups.py": "tests/broker/groups/test_group.py",
    "kcli/broker/apis/list_offsets.py": "tests/broker/apis/test_admin.py",
    "kcli/broker/apis/list_partition_reassignments.py": "tests/broker/apis/test_admin.py",
    "kcli/broker/apis/metadata.py": "tests/broker/apis/test_admin.py",
    "kcli/broker/apis/offset_commit.py": "tests/broker/groups/test_offsets.py",
    "kcli/broker/apis/offset_delete.py": "tests/broker/groups/test_offsets.py",
    "kcli/broker/apis/offset_fetch.py": "tests/broker/groups/test_offsets.py",
    "kcli/broker/apis/offset_for_leader_epoch.py": "tests/broker/apis/test_admin.py",
    "kcli/broker/apis/sync_group.py": "tests/broker/groups/test_group.py",
    "kcli/broker/request.py": "tests/broker/test_broker.py",
    "kcli/broker/codes.py": "tests/broker/test_broker.py",
    "kcli/broker/controller.py": "tests/broker/apis/test_admin.py",
    "kcli/broker/replicas.py": "tests/broker/apis/test_admin.py",
    "kcli/broker/datadir.py": "tests/broker/test_broker.py",
    "kcli/broker/apis/snapshot_draft.py": "tests/broker/test_metadata_snapshots.py",
    "kcli/broker/fetching.py": "tests/broker/apis/test_fetch.py",
    "kcli/broker/groups/coordinator.py": "tests/broker/groups/test_group.py",
    "kcli/broker/capture_history.py": "tests/broker/test_rebuild.py",
    "kcli/broker/groups/codes.py": "tests/broker/groups/test_group.py",
    "kcli/broker/groups/committed.py": "tests/broker/groups/test_offsets.py",
    "kcli/broker/groups/state.py": "tests/broker/groups/test_group.py",
    "kcli/broker/metadata_replay.py": "tests/broker/test_damaged_folder.py",
    "kcli/broker/groups/member.py": "tests/broker/groups/test_group.py",
    "kcli/broker/metalog.py": "tests/broker/test_metadata_snapshots.py",
    "kcli/broker/node.py": "tests/broker/test_broker.py",
    "kcli/broker/partition.py": "tests/broker/test_broker.py",
    "kcli/broker/partition_reads.py": "tests/broker/apis/test_fetch.py",
    "kcli/broker/response.py": "tests/broker/test_connection.py",
    "kcli/broker/retention.py": "tests/broker/apis/test_admin.py",
    "kcli/broker/storage/segment.py": "tests/broker/storage/test_log.py",
    "kcli/broker/seen_topics.py": "tests/broker/test_rebuild.py",
    "kcli/broker/topics.py": "tests/broker/test_broker.py",
    "kcli/capture/capture_file.py": "tests/capture/test_files.py",
    "kcli/capture/reassembly.py": "tests/capture/test_tcp.py",
    "kcli/capture/tls/ciphers.py": "tests/capture/tls/test_session.py",
    "kcli/capture/tls/layer.py": "tests/capture/tls/test_session.py",
    "kcli/capture/tls/protection.py": "tests/capture/tls/test_session.py",
    "kcli/capture/tls/stream.py": "tests/capture/tls/test_session.py",
    "kcli/capture/tls/recovery.py": "tests/capture/tls/test_session.py",
    "kcli/capture/tls/state.py": "tests/pipeline/test_tls.py",
    "kcli/grammar/tls.py": "tests/capture/tls/test_handshake.py",
    "kcli/cli/__main__.py": "tests/cli/test_main.py",
    "kcli/core/capture/exchange_json.pyx": "tests/core/capture/test_engine.py",
    "kcli/redact/connection.py": "tests/redact/test_redacting.py",
    "kcli/core/capture/draft.pyx": "tests/redact/test_draft.py",
    "kcli/core/codec/rewriting.pyx": "tests/redact/test_rewriters.py",
    "kcli/core/records/blanking.pyx": "tests/redact/test_batches.py",
    "kcli/redact/places.py": "tests/redact/test_engine.py",
    "kcli/redact/track.py": "tests/redact/test_redacting.py",
    "kcli/grammar/selected.py": "tests/grammar/test_selection.py",
    "kcli/grammar/selection_plan.py": "tests/grammar/test_selection.py",
    "kcli/grammar/selection_rows.py": "tests/grammar/test_selection.py",
    "kcli/schemas/lookup.py": "tests/schemas/test_catalog.py",
    "kcli/sessions/cached_session.py": "tests/sessions/test_broker.py",
    "kcli/sessions/full_checks.py": "tests/sessions/test_incremental_checks.py",
    "kcli/cli/replay_progress.py": "tests/cli/test_replay.py",
    "kcli/cli/replay_view.py": "tests/cli/test_replay.py",
    "kcli/replay/clock.py": "tests/replay/test_replaying.py",
    "kcli/replay/cluster.py": "tests/replay/test_replaying.py",
    "kcli/replay/connection.py": "tests/replay/test_replaying.py",
    "kcli/replay/outcome.py": "tests/replay/test_replaying.py",
    "kcli/replay/topics.py": "tests/replay/test_identities.py",
}


def own_test(module: Path) -> Path:
    inside = module.relative_to(ROOT / "kcli")
    name = inside.parent.name if module.name == "__init__.py" else inside.stem
    return TESTS / inside.parent / f"test_{name}.py"


@pytest.mark.parametrize("module", [str(path.relative_to(ROOT)) for path in MODULES if path.name != "__init__.py"])
def test_a_module_has_a_test_file(module: str) -> None:
    expected = ROOT / TESTED_ELSEWHERE.get(module, str(own_test(ROOT / module).relative_to(ROOT)))
    assert expected.exists(), f"{expected.relative_to(ROOT)} is missing"
    assert module not in TESTED_ELSEWHERE or not own_test(ROOT / module).exists(), "it has a test file of its own now"


@pytest.mark.parametrize("source", [str(path.relative_to(ROOT)) for path in SOURCES])
def test_a_source_can_be_read_at_a_sitting(source: str) -> None:
    lines = len((ROOT / source).read_text().splitlines())
    assert lines <= MOST_LINES


@pytest.mark.parametrize("module", [str(path.relative_to(ROOT)) for path in MODULES if path.suffix == ".py"])
def test_a_module_says_what_it_is_and_what_it_offers(module: str) -> None:
    tree = ast.parse((ROOT / module).read_text())
    assert ast.get_docstring(tree), "no docstring"
    if Path(module).name == "__main__.py":
        return
    name = module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    loaded = importlib.import_module(name)
    assert hasattr(loaded, "__all__") or module.endswith("__init__.py") or module.startswith(REGISTERED), "no __all__"
    assert not [each for each in names_of(loaded) if not hasattr(loaded, each)]


@pytest.mark.parametrize("source", [str(path.relative_to(ROOT)) for path in CORE])
def test_the_core_imports_nothing_from_above(source: str) -> None:
    """import-linter does not read Cython."""
    found = re.findall(r"^\s*(?:from|c?import)\s+(kcli[\w.]*)", (ROOT / source).read_text(), re.MULTILINE)
    assert not [name for name in found if not re.match(r"kcli(\.core|\.errors|\.jsontext)?(\.|$)", name)]


@pytest.mark.parametrize("source", [str(path.relative_to(ROOT)) for path in CORE if path.suffix != ".py"])
def test_loops_of_the_core_make_no_range(source: str) -> None:
    """Where the sign of a step is not written down, Cython makes a Python range for every run of the loop."""
    steps = re.findall(r"\bin range\([^\n]*?,[^\n]*?,\s*([^\n]*?)\):", (ROOT / source).read_text())
    assert not [step for step in steps if not re.match(r"-?\d+$|sizeof\(", step)]


def test_public_names_are_pinned() -> None:
    """What `import kcli` offers; a change here is a change for programs that use it (and the CHANGELOG)."""
    assert json.loads((TESTS / "exports.json").read_text()) == {"kcli": names_of(kcli)}


def names_of(package: ModuleType) -> list[str]:
    return sorted(getattr(package, "__all__", []))
