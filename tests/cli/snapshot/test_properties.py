from pathlib import Path

import pytest

from kcli.cli.snapshot.plan import settings_of
from kcli.errors import InputError
from kcli.snapshots.rules.policy import DEFAULTS

TEXT = "# a node's\nnode.id=1\nmetadata.max.retention.bytes = 5000\nmetadata.max.retention.ms:-1\n"


def test_settings_given_beside_and_above(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "__cluster_metadata-0"
    folder.mkdir(parents=True)
    assert settings_of(folder, None) == (None, DEFAULTS)
    above = tmp_path / "server.properties"
    above.write_text(TEXT)
    source, settings = settings_of(folder, None)
    assert source == str(above)
    assert settings == DEFAULTS | {"metadata.max.retention.bytes": 5000, "metadata.max.retention.ms": -1}
    beside = tmp_path / "data" / "server.properties"
    beside.write_text("")
    assert settings_of(folder, None) == (str(beside), DEFAULTS)
    assert settings_of(folder, str(above))[1] == settings


@pytest.mark.parametrize("text", ["metadata.max.retention.ms=a week", "metadata.max.retention.ms=1_000", "a=\\u12"])
def test_what_can_t_be_read(text: str, tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text(text)
    with pytest.raises(InputError, match=r"server\.properties"):
        settings_of(tmp_path, str(file))
    with pytest.raises(InputError, match="no such file"):
        settings_of(tmp_path, str(tmp_path / "missing"))
