import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;

/**
 * A producer at a steady rate, of whatever release is on the classpath: PacedProducer TOPIC PARTITIONS RATE SIZE WARM SECONDS key=value...
 *
 * Partitions by turns. Prints "measuring" after WARM seconds, and SECONDS later a line of JSON: how many records were
 * sent since, how many failed, and their latencies in ms, from send() to their acknowledgement.
 */
public final class PacedProducer {
    private final List<Long> latencies = new ArrayList<>();
    private int failed;

    public static void main(String[] args) throws Exception {
        Properties properties = new Properties();
        for (String each : Arrays.asList(args).subList(6, args.length)) {
            int at = each.indexOf('=');
            properties.put(each.substring(0, at), each.substring(at + 1));
        }
        String serializer = "org.apache.kafka.common.serialization.ByteArraySerializer";
        properties.put("key.serializer", serializer);
        properties.put("value.serializer", serializer);
        PacedProducer paced = new PacedProducer();
        paced.run(args[0], Arrays.stream(args, 1, 6).mapToInt(Integer::parseInt).toArray(), properties);
        paced.report();
    }

    private void run(String topic, int[] numbers, Properties properties) throws Exception {
        int partitions = numbers[0], rate = numbers[1], warm = numbers[3], seconds = numbers[4];
        byte[] value = new byte[numbers[2]];
        try (Producer<byte[], byte[]> producer = new KafkaProducer<>(properties)) {
            long start = System.nanoTime(), elapsed;
            long sent = 0;
            boolean measuring = false;
            while ((elapsed = System.nanoTime() - start) < (warm + seconds) * 1_000_000_000L) {
                if (!measuring && elapsed >= warm * 1_000_000_000L) {
                    measuring = true;
                    System.out.println("measuring");
                }
                while (sent < elapsed * rate / 1_000_000_000L) {
                    send(producer, new ProducerRecord<>(topic, (int) (sent++ % partitions), null, value), measuring);
                }
                Thread.sleep(1);
            }
        }
    }

    private void send(Producer<byte[], byte[]> producer, ProducerRecord<byte[], byte[]> record, boolean counts) {
        long before = System.nanoTime();
        producer.send(record, (metadata, error) -> {
            if (counts) {
                latencies.add(System.nanoTime() - before); // by the one thread that calls back
            }
            if (error != null && failed++ == 0) {
                error.printStackTrace();
            }
        });
    }

    private void report() {
        latencies.sort(null);
        System.out.printf(
            Locale.ROOT,
            "{\"records\": %d, \"failed\": %d, \"p50\": %.3f, \"p99\": %.3f, \"p99.9\": %.3f, \"max\": %.3f}%n",
            latencies.size(), failed, at(0.5), at(0.99), at(0.999), at(1.0));
    }

    private double at(double share) {
        int place = (int) Math.ceil(share * latencies.size()) - 1;
        return latencies.get(Math.max(0, place)) / 1e6;
    }
}
