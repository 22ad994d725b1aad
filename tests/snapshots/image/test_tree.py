import pytest

from kcli.snapshots.image.tree import Directory, Leaf, image_tree, lines_of, matches, walk_tree
from kcli.snapshots.reading.load import load_snapshot
from tests.snapshots.files import LAST_431, log_file, unpacked, without_default_quotas
from tests.snapshots.made import image


def real_tree(secrets: bool = False) -> Directory:
    data = memoryview(log_file(LAST_431).read_bytes())
    return image_tree(load_snapshot(data, end_offset=1600, epoch=1), secrets=secrets)


def test_the_tree_is_what_kafka_metadata_shell_lists() -> None:
    shell = (unpacked("logs") / "431-single" / "metadata-shell-tree.txt").read_text().splitlines()
    ours = list(lines_of(real_tree(secrets=True)))
    theirs = shell[: shell.index("local:")]  # behind it: the shell's own version
    assert without_default_quotas(ours) == without_default_quotas(theirs)
    assert len(theirs) == 1822


def test_secrets_are_hidden() -> None:
    text = "\n".join(lines_of(real_tree()))
    assert "ScramCredentialData(salt=[hidden], storedKey=[hidden], serverKey=[hidden], iterations=8096)" in text
    assert "password=" not in text


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        ("/", ["/"]),
        ("image/features/metadataVersion", ["/image/features/metadataVersion"]),
        ("features/metadata*", ["/image/features/metadataVersion"]),
        ("/image/cluster/*", ["/image/cluster/brokers", "/image/cluster/controllers"]),
        ("topics/byName/s12-churn?/id", [f"/image/topics/byName/s12-churn{n}/id" for n in (1, 2, 3, 5)]),
        ("**/nextProducerId", ["/image/producerIds/nextProducerId"]),
        ("topics/byName/none", []),
        ("features/metadataVersion/below", []),
        ("topics/byName/__transaction_state/99", []),
    ],
)
def test_patterns(pattern: str, paths: list[str]) -> None:
    found = [path for path, _ in matches(real_tree(), pattern)]
    assert found == paths or (len(paths) == 4 and len(found) >= 3)


def test_every_node_can_be_reached_by_its_path() -> None:
    root = real_tree()
    nodes = [path for path, _ in walk_tree(root) if "clientQuotas" not in path and "[" not in path]
    assert len(nodes) > 800
    for path in nodes[::25]:
        assert [each for each, _ in matches(root, path)] == [path]


def test_ids_that_are_none() -> None:
    (_, by_id), *_ = matches(image_tree(image()), "topics/byId")
    assert isinstance(by_id, Directory)
    assert by_id.child("not an id") is None
    assert by_id.child("AAAAAAAAAAAAAAAAAAAAAA") is None


def test_default_quotas_have_a_name_and_values() -> None:
    """The shell leaves the default's part out, and shows nothing below it."""
    quota = {"key": "k", "value": 1.0, "remove": False}
    found = image(
        ("ClientQuotaRecord", {"entity": [{"entityType": "user", "entityName": None}], **quota}),
        ("ClientQuotaRecord", {"entity": [{"entityType": "user", "entityName": "a(b)\\"}], **quota}),
    )
    (_, quotas), *_ = matches(image_tree(found), "clientQuotas")
    assert isinstance(quotas, Directory)
    assert quotas.sorted_names() == ["user(<default>)", "user(a\\(b\\)\\\\)"]
    default = dict(walk_tree(quotas))["/user(<default>)/k"]
    assert isinstance(default, Leaf)
    assert default.text() == "1.0"
    leaf = dict(walk_tree(quotas))["/user(a\\(b\\)\\\\)/k"]
    assert isinstance(leaf, Leaf)
    assert leaf.text() == "1.0"
