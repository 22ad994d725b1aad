"""The exported Kaitai specification, compiled by Kaitai's own compiler, reads what kcli writes."""

import importlib.util
import json
import os
import shutil
import subprocess
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from kaitaistruct import KaitaiStream

from kcli.capture.api import read_capture
from kcli.cli.main import main
from kcli.grammar import messages
from kcli.schemas.apikeys import PRODUCE
from kcli.schemas.catalog import catalog
from kcli.schemas.export.kaitai import kaitai
from kcli.schemas.model import Api
from kcli.schemas.vectors.values import vectors
from tests.real.maven import LIGHT, classpath, unavailable
from tests.schemas.export.kaitai_reading import class_name, struct

pytestmark = pytest.mark.real
COMPILER = "io.kaitai:kaitai-struct-compiler_2.12:0.10"


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The class that the compiler makes of the specification, for Python."""
    if (java := shutil.which("java")) is None:
        unavailable("java is not installed")
    folder = tmp_path_factory.mktemp("kaitai")
    (folder / "kafka.ksy").write_text("\n".join(kaitai(catalog())) + "\n")
    jars = os.pathsep.join(map(str, classpath((COMPILER,))))
    command = [java, *LIGHT, "-cp", jars, "io.kaitai.struct.JavaMain", "-t", "python", "-d", str(folder)]
    done = subprocess.run([*command, str(folder / "kafka.ksy")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not done.stdout + done.stderr
    spec = importlib.util.spec_from_file_location("kaitai_kafka", folder / "kafka.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Kafka


@pytest.mark.parametrize("api", catalog().apis.values(), ids=lambda api: api.name)
def test_vectors_are_read_alike(api: Api, reader: Any) -> None:
    """Of both messages in their first, a middle and their last version: each case, the message read to its end."""
    for name in (api.request, api.response):
        message = catalog().message(name)
        versions = message.versions
        for version in sorted({versions.lo, (versions.lo + versions.hi) // 2, versions.hi}):
            codec = messages.data(name, version)
            for case, value in list(vectors(message, version))[:40]:
                data = codec.write(value)
                stream = KaitaiStream(BytesIO(data))
                read = struct(message.fields, getattr(reader, class_name(name))(version, stream), version)
                assert read == json.loads(codec.json(data, secrets=True)[0]), (name, version, case)
                assert stream.is_eof()


def test_frames_and_batches_of_a_capture_are_read(
    samples: Path, reader: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    records = 0
    for exchange in read_capture(samples / "java44-txn.pcap"):
        frame, answer = exchange.request_frame, exchange.response_frame
        assert answer is not None
        stream = KaitaiStream(BytesIO(len(frame).to_bytes(4, "big") + frame))
        request = reader(stream).requests[0].request
        response = reader.Response(exchange.api_key, exchange.api_version, KaitaiStream(BytesIO(answer)))
        assert request.header.correlation_id == response.header.correlation_id == exchange.header["correlationId"]
        assert not request.trailing + response.trailing
        if exchange.api_key == PRODUCE:
            fields = [part.records.value for topic in request.body.topic_data for part in topic.partition_data]
            records += sum(len(each.body.batch.records) for field in fields for each in field.entries)
    main(["records", str(samples / "java44-txn.pcap"), "--api", "Produce", "--format", "jsonl", "-q"])
    assert records == len(capsys.readouterr().out.splitlines()) > 0
