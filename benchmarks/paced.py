"""kcli's producer at a steady rate, as PacedProducer.java does it with Kafka's.

    python -m benchmarks.paced hints|metadata TOPIC PARTITIONS RATE SIZE WARM SECONDS key=value...

Partitions by turns. Prints "measuring" after WARM seconds, and SECONDS later a line of JSON: how many records were sent
since, how many failed, their latencies in ms, and what the client took to find a new leader, as it sees that itself.
"""

import asyncio
import gc
import json
import sys

from kcli.client.cluster import Client
from kcli.client.producing.producer import Producer
from kcli.client.producing.statistics import Statistics
from kcli.client.properties import ClientConfig


async def produce(discovery: str, topic: str, numbers: list[int], settings: dict[str, str]) -> Statistics:
    partitions, rate, size, warm, seconds = numbers
    async with Client(ClientConfig(settings)) as client, Producer(client, topic, discovery=discovery) as producer:
        loop = asyncio.get_running_loop()
        start, sent, measuring = loop.time(), 0, False
        while (elapsed := loop.time() - start) < warm + seconds:
            if not measuring and elapsed >= warm:
                measuring = True
                producer.sender.statistics = Statistics()
                gc.freeze()
                print("measuring", flush=True)
            while sent < elapsed * rate:
                await producer.send(None, bytes(size), sent % partitions)
                sent += 1
            await asyncio.sleep(0.001)
        await producer.flush()
        return producer.statistics


def main(arguments: list[str]) -> None:
    discovery, topic, *numbers = arguments[:7]
    settings = dict(each.split("=", 1) for each in arguments[7:])
    done = asyncio.run(produce(discovery, topic, [int(each) for each in numbers], settings))
    latencies = done.latencies
    row = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999, "max": 1.0}
    figures = {name: round(latencies.percentile(share) or 0, 3) for name, share in row.items()}
    waits = {"waits": done.client_waits.count, "wait": done.client_waits.percentile(0.5)}
    print(json.dumps({"records": done.records, "failed": done.failed, **figures, **waits, "hinted": done.hinted}))


if __name__ == "__main__":
    main(sys.argv[1:])
