import java.nio.file.Path;
import java.nio.file.Paths;

import org.apache.kafka.common.utils.internals.BufferSupplier;
import org.apache.kafka.common.utils.internals.LogContext;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.raft.Batch;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.OffsetAndEpoch;
import org.apache.kafka.snapshot.FileRawSnapshotReader;
import org.apache.kafka.snapshot.RecordsSnapshotReader;

/** Reads snapshots with Kafka 4.4's own reader, replays them as a controller does, and tells what the image holds. */
public class SnapshotReplay {
    public static void main(String[] files) throws Exception {
        for (String file : files) {
            Path path = Paths.get(file);
            String name = path.getFileName().toString();
            OffsetAndEpoch id = new OffsetAndEpoch(Long.parseLong(name.substring(0, 20)), Integer.parseInt(name.substring(21, 31)));
            long begun = System.nanoTime();
            MetadataDelta delta = new MetadataDelta.Builder().setImage(MetadataImage.EMPTY).build();
            int records = 0;
            try (FileRawSnapshotReader raw = FileRawSnapshotReader.open(path.toAbsolutePath().getParent(), id);
                    RecordsSnapshotReader<ApiMessageAndVersion> reader = RecordsSnapshotReader.of(raw,
                            MetadataRecordSerde.INSTANCE, BufferSupplier.create(), 64 << 20, true, new LogContext())) {
                while (reader.hasNext()) {
                    Batch<ApiMessageAndVersion> batch = reader.next();
                    for (ApiMessageAndVersion record : batch.records()) {
                        delta.replay(record.message());
                        records++;
                    }
                }
            }
            delta.finishSnapshot();
            MetadataImage image = delta.apply(new MetadataProvenance(id.offset() - 1, id.epoch(), 0, true));
            int partitions = image.topics().topicsById().values().stream().mapToInt(topic -> topic.partitions().size()).sum();
            System.out.printf("{\"records\":%d,\"topics\":%d,\"partitions\":%d,\"brokers\":%d,\"acls\":%d,\"ms\":%d}%n", records,
                    image.topics().topicsById().size(), partitions, image.cluster().brokers().size(),
                    image.acls().acls().size(), (System.nanoTime() - begun) / 1_000_000);
        }
    }
}
