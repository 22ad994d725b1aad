"""Statistics of a producer: rates, latency percentiles, and the time until retries reach a new leader.

The closing line has the form of Kafka's kafka-producer-perf-test.
"""

from dataclasses import dataclass, field
from typing import Any

from kcli.sessions.latency_histogram import LatencyHistogram

SHARES = ((50, 0.50), (95, 0.95), (99, 0.99), (99.9, 0.999))


@dataclass
class Statistics:
    """Counts of a producer. records, bytes: acknowledged; latencies: from `send` to the response, in ns.

    retries: batches sent again; hinted: those sent again at once after a leader hint (KIP-951)
    client_waits: the ns from a leader's error to the retry, which the client causes
    """

    records: int = 0
    bytes: int = 0
    failed: int = 0
    retries: int = 0
    hinted: int = 0
    latencies: LatencyHistogram = field(default_factory=LatencyHistogram)
    total_ns: int = 0
    client_waits: LatencyHistogram = field(default_factory=LatencyHistogram)

    def add(self, sent_ns: list[int], now_ns: int, size: int) -> None:
        """Count a batch that was acknowledged."""
        add = self.latencies.add
        for ns in sent_ns:
            add(now_ns - ns)
        self.records += len(sent_ns)
        self.total_ns += now_ns * len(sent_ns) - sum(sent_ns)
        self.bytes += size

    def line(self, seconds: float) -> str:
        """Return the closing line of kafka-producer-perf-test."""
        percentiles = ", ".join(f"{self.percentile(share)} ms {name:g}th" for name, share in SHARES)
        return (
            f"{self.records} records sent, {self.records / seconds:f} records/sec "
            f"({self.bytes / seconds / (1 << 20):.2f} MB/sec), {self.average():.2f} ms avg latency, "
            f"{self.latencies.most / 1e6:.2f} ms max latency, {percentiles}."
        )

    def as_dict(self, seconds: float) -> dict[str, Any]:
        """Return the statistics as a JSON object, with latencies in ms. seconds: the elapsed time."""
        return {
            "records": self.records,
            "bytes": self.bytes,
            "failed": self.failed,
            "seconds": round(seconds, 3),
            "recordsPerSecond": round(self.records / seconds, 1),
            "bytesPerSecond": round(self.bytes / seconds, 1),
            "latencyMs": {
                "avg": round(self.average(), 3),
                "max": round(self.latencies.most / 1e6, 3),
                **{f"p{name:g}": self.exact(share) for name, share in SHARES},
            },
            "retries": self.retries,
            "hintedRetries": self.hinted,
            "errorToRetryMs": self.client_waits.summary(),
        }

    def average(self) -> float:
        """Return the mean latency in ms; 0 if there are no records."""
        return self.total_ns / 1e6 / self.records if self.records else 0.0

    def percentile(self, share: float) -> int:
        """Return the latency, in whole milliseconds, that a share (0 to 1) of the records did not exceed."""
        return round(self.latencies.percentile(share) or 0.0)

    def exact(self, share: float) -> float | None:
        """Return `percentile` to the microsecond; None without records."""
        value = self.latencies.percentile(share)
        return None if value is None else round(value, 3)
