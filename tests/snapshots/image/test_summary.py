from kcli.snapshots.image.image import Image
from kcli.snapshots.image.summary import image_summary
from tests.snapshots.made import image, partition


def test_figures_of_an_image() -> None:
    summary = image_summary(image(("PartitionRecord", partition(2, isr=[1], leader=-1))))
    assert (summary["endOffset"], summary["epoch"], summary["time"]) == (100, 2, "2023-11-14T22:13:20.000Z")
    assert (summary["topics"], summary["partitions"], summary["brokers"], summary["brokersFenced"]) == (1, 3, 3, 0)
    assert (summary["offline"], summary["underReplicated"], summary["notPreferred"]) == (1, 1, 0)
    assert (summary["metadataVersion"], summary["features"], summary["voters"]) == ("4.3-IV0", {}, None)


def test_an_empty_image() -> None:
    summary = image_summary(Image())
    assert (summary["partitions"], summary["metadataVersion"], summary["nextProducerId"]) == (0, None, -1)
