import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

/**
 * Reads, changes and writes in transactions, with the clients of a release from 2.5 on: TOPIC COUNT SECONDS [key=value...]
 *
 * COUNT records go to TOPIC in a transaction that is committed, and COUNT in one that is aborted; what a group reads of
 * them goes to TOPIC-out, with its offsets. Prints how many those are.
 */
public final class JavaTransactions {
    public static void main(String[] args) throws Exception {
        Properties properties = new Properties();
        for (int i = 3; i < args.length; i++) {
            int at = args[i].indexOf('=');
            properties.put(args[i].substring(0, at), args[i].substring(at + 1));
        }
        String text = "org.apache.kafka.common.serialization.String";
        properties.put("key.serializer", text + "Serializer");
        properties.put("value.serializer", text + "Serializer");
        properties.put("key.deserializer", text + "Deserializer");
        properties.put("value.deserializer", text + "Deserializer");
        properties.put("isolation.level", "read_committed");
        properties.put("enable.auto.commit", "false");
        properties.put("auto.offset.reset", "earliest");
        properties.put("group.id", args[0]);
        properties.put("transactional.id", args[0]);
        System.out.println(run(args[0], Integer.parseInt(args[1]), Integer.parseInt(args[2]), properties));
    }

    static int run(String topic, int count, int seconds, Properties properties) {
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(properties);
                KafkaConsumer<String, String> consumer = new KafkaConsumer<>(properties)) {
            producer.initTransactions();
            for (boolean commits : new boolean[] {true, false}) {
                producer.beginTransaction();
                for (int n = 0; n < count; n++) {
                    producer.send(new ProducerRecord<>(topic, "k" + n, commits ? "committed" : "aborted"));
                }
                producer.flush();
                if (commits) {
                    producer.commitTransaction();
                } else {
                    producer.abortTransaction();
                }
            }
            consumer.subscribe(List.of(topic));
            List<ConsumerRecord<String, String>> got = new ArrayList<>();
            long until = System.currentTimeMillis() + seconds * 1000L;
            while (got.size() < count && System.currentTimeMillis() < until) {
                consumer.poll(Duration.ofMillis(200)).forEach(got::add);
            }
            Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
            producer.beginTransaction();
            for (ConsumerRecord<String, String> each : got) {
                producer.send(new ProducerRecord<>(topic + "-out", each.key(), each.value()));
                offsets.put(new TopicPartition(topic, each.partition()), new OffsetAndMetadata(each.offset() + 1));
            }
            producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
            producer.commitTransaction();
            return got.size();
        }
    }
}
