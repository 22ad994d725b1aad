import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;

/**
 * {@code RecordWriter BOOTSTRAP TOPIC...} makes the topics, and writes 1000 records to each with the codec that its name
 * ends in; to one that ends in "txn" in transactions, every third of them aborted.
 */
public final class RecordWriter {
    private static final int RECORDS = 1000;

    public static void main(String[] args) throws Exception {
        List<NewTopic> topics = Arrays.stream(args).skip(1)
            .map(name -> new NewTopic(name, 1, (short) 1).configs(Map.of("index.interval.bytes", "1000")))
            .collect(Collectors.toList());
        try (Admin admin = Admin.create(Map.<String, Object>of("bootstrap.servers", args[0]))) {
            admin.createTopics(topics).all().get();
        }
        for (int i = 1; i < args.length; i++) {
            write(args[0], args[i]);
        }
    }

    static void write(String bootstrap, String topic) throws Exception {
        boolean transactional = topic.endsWith("txn");
        Properties properties = new Properties();
        properties.putAll(Map.of("bootstrap.servers", bootstrap, "batch.size", "4000", "linger.ms", "5"));
        properties.put("compression.type", transactional ? "none" : topic.substring(topic.lastIndexOf('-') + 1));
        String bytes = "org.apache.kafka.common.serialization.ByteArraySerializer";
        properties.put("key.serializer", bytes);
        properties.put("value.serializer", bytes);
        if (transactional) {
            properties.put("transactional.id", topic);
        }
        try (Producer<byte[], byte[]> producer = new KafkaProducer<>(properties)) {
            if (transactional) {
                producer.initTransactions();
            }
            Random random = new Random(1);
            for (int n = 0; n < RECORDS; n++) {
                if (transactional && n % 100 == 0) {
                    producer.beginTransaction();
                }
                producer.send(record(topic, random, n));
                if (transactional && n % 100 == 99) {
                    producer.flush(); // an abort drops what was not sent yet, and without records there is no marker
                    if (n / 100 % 3 == 0) {
                        producer.abortTransaction();
                    } else {
                        producer.commitTransaction();
                    }
                }
            }
        }
    }

    static ProducerRecord<byte[], byte[]> record(String topic, Random random, int n) {
        byte[] key = n % 5 == 0 ? null : ("key " + n % 17).getBytes();
        byte[] value = n % 11 == 0 ? null : new byte[random.nextInt(200)];
        if (value != null && n % 2 == 0) {
            random.nextBytes(value);
        }
        ProducerRecord<byte[], byte[]> record = new ProducerRecord<>(topic, key, value);
        if (n % 3 == 0) {
            record.headers().add("header-\u00e9", new byte[] {1, 2}).add("none", null);
        }
        return record;
    }
}
