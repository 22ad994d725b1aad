import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.config.ConfigResource;

/**
 * A member of a share group (KIP-932), with the clients of a release from 4.1 on: TOPIC COUNT SECONDS [key=value...]
 *
 * The group, group.id, starts at the earliest records. Accepts COUNT of them, every tenth after it was released once;
 * prints how many it has accepted and how many were released.
 */
public final class JavaShareGroup {
    public static void main(String[] args) throws Exception {
        Properties properties = new Properties();
        for (int i = 3; i < args.length; i++) {
            int at = args[i].indexOf('=');
            properties.put(args[i].substring(0, at), args[i].substring(at + 1));
        }
        String text = "org.apache.kafka.common.serialization.String";
        properties.put("key.deserializer", text + "Deserializer");
        properties.put("value.deserializer", text + "Deserializer");
        properties.put("share.acknowledgement.mode", "explicit");
        ConfigResource group = new ConfigResource(ConfigResource.Type.GROUP, properties.getProperty("group.id"));
        ConfigEntry earliest = new ConfigEntry("share.auto.offset.reset", "earliest");
        try (Admin admin = Admin.create(properties)) {
            admin.incrementalAlterConfigs(Map.of(group, List.of(new AlterConfigOp(earliest, AlterConfigOp.OpType.SET))))
                .all()
                .get();
        }
        int accepted = 0;
        int released = 0;
        int count = Integer.parseInt(args[1]);
        long until = System.currentTimeMillis() + Integer.parseInt(args[2]) * 1000L;
        try (KafkaShareConsumer<String, String> consumer = new KafkaShareConsumer<>(properties)) {
            consumer.subscribe(List.of(args[0]));
            while (accepted < count && System.currentTimeMillis() < until) {
                for (ConsumerRecord<String, String> each : consumer.poll(Duration.ofMillis(200))) {
                    boolean again = each.offset() % 10 == 0 && each.deliveryCount().orElse((short) 1) == 1;
                    consumer.acknowledge(each, again ? AcknowledgeType.RELEASE : AcknowledgeType.ACCEPT);
                    accepted += again ? 0 : 1;
                    released += again ? 1 : 0;
                }
                consumer.commitSync();
            }
        }
        System.out.println(accepted + " " + released);
    }
}
