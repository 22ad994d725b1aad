"""Captures and tables in an object store: an S3 API on loopback."""

import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from kcli.pipeline import run
from kcli.pipeline.context import Options
from kcli.pipeline.formats.runs import runs_of
from kcli.pipeline.storage import StoragePath, gather
from tests.pipeline.outputs import Here
from tests.processes import ended

if find_spec("moto") is None:
    pytest.skip("moto is not installed", allow_module_level=True)
pyarrow = pytest.importorskip("pyarrow")

# In a process of its own: deltalake holds the interpreter's lock while it waits for an answer.
SERVER = """
import logging, sys
from moto.server import ThreadedMotoServer
logging.getLogger("werkzeug").setLevel(logging.ERROR)
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """A URI with {} for a key."""
    from pyarrow import fs

    with (
        ended(
            subprocess.Popen([sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        ) as server,
        pytest.MonkeyPatch.context() as patched,
    ):
        assert server.stdout is not None and server.stdin is not None
        port = next(int(line) for line in server.stdout if line.strip().isdigit())
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


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("table_format", ["delta", "parquet"])
def test_a_run_from_and_to_a_bucket(table_format: str, bucket: str, samples: Path) -> None:
    import pyarrow.parquet

    for name in ("kcat-codecs.pcap", "java44-txn.pcap"):
        StoragePath(bucket.format(f"in/{name}")).write((samples / name).read_bytes())
    assert [each.size for each in gather([bucket.format("in")])] == [
        (samples / "java44-txn.pcap").stat().st_size,
        61975,
    ]
    output = bucket.format(table_format)
    options = Options(output, shares=3, range_bytes=20_000, table_format=table_format)
    made = run.run_pipeline(Here(), [bucket.format("in")], options)
    assert (made.files, made.exchanges, made.problems) == (2, 78 + 77, [])
    rows = 0
    for file in runs_of(StoragePath(output)).stored()["exchanges"]:
        with StoragePath(file.uri).open() as opened:
            rows += pyarrow.parquet.read_table(opened).num_rows
    assert rows == 78 + 77
    assert run.run_pipeline(Here(), [bucket.format("in")], options).files == 0
