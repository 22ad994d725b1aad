"""Error codes are found wherever they stand in a message."""

from __future__ import annotations

import pytest

from kcli.capture.kafka.error_codes import error_codes


@pytest.mark.parametrize(
    ("message", "codes"),
    [
        ({"errorCode": 0, "throttleTimeMs": 5}, []),
        ({"errorCode": 3, "topics": [{"name": "t", "topicErrorCode": 7}, {"name": "u", "topicErrorCode": 0}]}, [3, 7]),
        ({"partitions": [{"replicas": [1, 2], "errors": [{"errorCode": 6}, {"errorCode": 6}]}]}, [6, 6]),
        ({"names": ["errorCode"], "errorCode": None, "codes": []}, []),
    ],
)
def test_every_code_other_than_0_in_order(message: dict[str, object], codes: list[int]) -> None:
    assert list(error_codes(message)) == codes
