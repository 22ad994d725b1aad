import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Properties;
import java.util.concurrent.Future;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;

/**
 * A producer or a consumer of whatever release is on the classpath, from 0.10 on.
 *
 * <pre>
 * produce TOPIC FROM TO [key=value...]     records FROM..TO-1, value "n" and 20 x; prints "partition offset n" once acknowledged
 * consume TOPIC COUNT SECONDS [key=value...]   subscribes; prints "partition offset value" until COUNT or SECONDS
 * count TOPIC COUNT SECONDS [key=value...]     the same, but prints only "records bytes" at the end
 * time TOPIC,... COUNT SECONDS [key=value...]  the same, and the ms since the first of them came
 * fill TOPIC,... COUNT SIZE [key=value...]     records of SIZE bytes, COUNT for each topic, over its partitions; prints the ms
 * </pre>
 */
public final class JavaClient {
    public static void main(String[] args) throws Exception {
        Properties properties = new Properties();
        int first = 4;
        for (int i = first; i < args.length; i++) {
            int at = args[i].indexOf('=');
            properties.put(args[i].substring(0, at), args[i].substring(at + 1));
        }
        String text = "org.apache.kafka.common.serialization.String";
        properties.put("key.serializer", text + "Serializer");
        properties.put("value.serializer", text + "Serializer");
        properties.put("key.deserializer", text + "Deserializer");
        properties.put("value.deserializer", text + "Deserializer");
        if (args[0].equals("produce")) {
            produce(args[1], Integer.parseInt(args[2]), Integer.parseInt(args[3]), properties);
        } else if (args[0].equals("fill")) {
            fill(args[1].split(","), Integer.parseInt(args[2]), Integer.parseInt(args[3]), properties);
        } else {
            consume(args[0], args[1], Integer.parseInt(args[2]), Integer.parseInt(args[3]), properties);
        }
    }

    static void produce(String topic, int from, int to, Properties properties) throws Exception {
        String tail = new String(new char[20]).replace('\0', 'x');
        try (Producer<String, String> producer = new KafkaProducer<>(properties)) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (int n = from; n < to; n++) {
                sent.add(producer.send(new ProducerRecord<>(topic, "k" + n % 7, n + tail)));
            }
            for (int n = from; n < to; n++) {
                try {
                    RecordMetadata done = sent.get(n - from).get();
                    System.out.println(done.partition() + " " + done.offset() + " " + n);
                } catch (java.util.concurrent.ExecutionException error) {
                    System.out.println("failed " + error.getCause().getClass().getSimpleName() + " " + n);
                }
            }
        }
    }

    static void fill(String[] topics, int count, int size, Properties properties) {
        String value = new String(new char[size]).replace('\0', 'x');
        try (Producer<String, String> producer = new KafkaProducer<>(properties)) {
            int partitions = 0;
            for (String topic : topics) {
                partitions = producer.partitionsFor(topic).size();
            }
            long start = System.currentTimeMillis();
            for (int n = 0; n < count; n++) {
                for (String topic : topics) {
                    producer.send(new ProducerRecord<>(topic, n % partitions, null, value));
                }
            }
            producer.flush();
            System.out.println(System.currentTimeMillis() - start);
        }
    }

    static void consume(String how, String topic, int count, int seconds, Properties properties) throws Exception {
        boolean quiet = !how.equals("consume");
        long first = 0;
        long until = System.currentTimeMillis() + seconds * 1000L;
        int got = 0;
        long bytes = 0;
        try (Consumer<String, String> consumer = new KafkaConsumer<>(properties)) {
            consumer.subscribe(Arrays.asList(topic.split(",")));
            while (got < count && System.currentTimeMillis() < until) {
                for (ConsumerRecord<String, String> each : poll(consumer)) {
                    if (!quiet) {
                        System.out.println(each.partition() + " " + each.offset() + " " + each.value());
                    }
                    first = got == 0 ? System.currentTimeMillis() : first;
                    bytes += each.value().length();
                    got++;
                }
            }
            String elapsed = how.equals("time") ? " " + (System.currentTimeMillis() - first) : "";
            if (quiet) {
                System.out.println(got + " " + bytes + elapsed);
            }
            consumer.commitSync();
        }
    }

    /** poll(long) was there until 3.9, poll(Duration) is since 2.0. */
    @SuppressWarnings("unchecked")
    static ConsumerRecords<String, String> poll(Consumer<String, String> consumer) throws Exception {
        try {
            Method modern = Consumer.class.getMethod("poll", java.time.Duration.class);
            return (ConsumerRecords<String, String>) modern.invoke(consumer, java.time.Duration.ofMillis(200));
        } catch (NoSuchMethodException old) {
            Method before = Consumer.class.getMethod("poll", long.class);
            return (ConsumerRecords<String, String>) before.invoke(consumer, 200L);
        }
    }
}
