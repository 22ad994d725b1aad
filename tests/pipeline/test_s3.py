"""Captures and tables in an object store: an S3 API on loopback."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcli.pipeline import run
from kcli.pipeline.context import Options
from kcli.pipeline.storage import Place, gather
from tests.pipeline.outputs import Here

moto = pytest.importorskip("moto.server")
pyarrow = pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """A URI with {} for a key."""
    from pyarrow import fs

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    _, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patched:
        for name, value in (
            ("AWS_ACCESS_KEY_ID", "x"),
            ("AWS_SECRET_ACCESS_KEY", "y"),
            ("AWS_EC2_METADATA_DISABLED", "true"),
        ):
            patched.setenv(name, value)
        options = f"?endpoint_override=127.0.0.1:{port}&scheme=http&region=us-east-1&allow_bucket_creation=true"
        store, _ = fs.FileSystem.from_uri(f"s3://fleet{options}")
        store.create_dir("fleet")
        yield f"s3://fleet/{{}}{options}"
        server.stop()


@pytest.mark.filterwarnings("ignore")
def test_a_run_from_and_to_a_bucket(bucket: str, samples: Path) -> None:
    import pyarrow.parquet

    for name in ("kcat-codecs.pcap", "java44-txn.pcap"):
        Place(bucket.format(f"in/{name}")).write((samples / name).read_bytes())
    assert [each.size for each in gather([bucket.format("in")])] == [
        (samples / "java44-txn.pcap").stat().st_size,
        61975,
    ]
    options = Options(bucket.format("out"), shares=3, range_bytes=20_000)
    made = run.run_pipeline(Here(), [bucket.format("in")], options)
    assert (made.files, made.exchanges, made.problems) == (2, 78 + 77, [])
    rows = 0
    for file in Place(bucket.format("out/exchanges")).listed():
        with Place(file.uri).open() as opened:
            rows += pyarrow.parquet.read_table(opened).num_rows
    assert rows == 78 + 77
    assert run.run_pipeline(Here(), [bucket.format("in")], options).files == 0
