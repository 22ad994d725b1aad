import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Collections;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;

/**
 * A consumer of whatever release is on the classpath, from 0.9 on: {@code OldConsumer BOOTSTRAP COUNT} reads the records
 * of partition 0 of "t" from offset 0, and prints offset, timestamp (0.9 has none: -1), key and value in base64.
 */
public final class OldConsumer {
    @SuppressWarnings("deprecation")
    public static void main(String[] args) throws Exception {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", args[0]);
        properties.put("enable.auto.commit", "false");
        properties.put("max.partition.fetch.bytes", "20000");
        properties.put("check.crcs", "true");
        String bytes = "org.apache.kafka.common.serialization.ByteArrayDeserializer";
        properties.put("key.deserializer", bytes);
        properties.put("value.deserializer", bytes);
        TopicPartition partition = new TopicPartition("t", 0);
        int left = Integer.parseInt(args[1]);
        long stop = System.currentTimeMillis() + 60_000;
        StringBuilder out = new StringBuilder();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(properties)) {
            consumer.assign(Collections.singletonList(partition));
            consumer.seek(partition, 0);
            while (left > 0 && System.currentTimeMillis() < stop) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(500)) {
                    out.append(record.offset()).append('\t').append(time(record)).append('\t');
                    out.append(text(record.key())).append('\t').append(text(record.value())).append('\n');
                    left--;
                }
            }
        }
        System.out.write(out.toString().getBytes(StandardCharsets.US_ASCII));
        System.out.flush();
        if (left > 0) {
            throw new AssertionError(left + " records were not read");
        }
    }

    static String text(byte[] data) {
        return Base64.getEncoder().encodeToString(data);
    }

    static long time(ConsumerRecord<byte[], byte[]> record) {
        try {
            return (Long) ConsumerRecord.class.getMethod("timestamp").invoke(record);
        } catch (ReflectiveOperationException missing) {
            return -1;
        }
    }
}
