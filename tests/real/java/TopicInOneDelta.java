import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.metadata.ConfigRecord;
import org.apache.kafka.common.metadata.RemoveTopicRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;

/** A topic with a config is created and deleted: with an image after each record, and with one image after all three. */
public class TopicInOneDelta {
    public static void main(String[] arguments) {
        Uuid id = Uuid.fromString("YWJjZGVmZ2hpamtsbW5vcA");
        ApiMessage[] records = {
            new TopicRecord().setName("orders").setTopicId(id),
            new ConfigRecord().setResourceType(ConfigResource.Type.TOPIC.id()).setResourceName("orders")
                .setName("retention.ms").setValue("1002166"),
            new RemoveTopicRecord().setTopicId(id),
        };
        MetadataImage one = MetadataImage.EMPTY;
        for (ApiMessage record : records) {
            MetadataDelta delta = new MetadataDelta.Builder().setImage(one).build();
            delta.replay(record);
            one = delta.apply(MetadataProvenance.EMPTY);
        }
        MetadataDelta delta = new MetadataDelta.Builder().setImage(MetadataImage.EMPTY).build();
        for (ApiMessage record : records) {
            delta.replay(record);
        }
        MetadataImage all = delta.apply(MetadataProvenance.EMPTY);
        for (MetadataImage image : new MetadataImage[] {one, all}) {
            System.out.println(image.topics().topicsById().size() + " topics, configs of orders: "
                + image.configs().configProperties(new ConfigResource(ConfigResource.Type.TOPIC, "orders")));
        }
    }
}
