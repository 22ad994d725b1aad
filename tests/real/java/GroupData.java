import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.runtime.distributed.ConnectProtocol;
import org.apache.kafka.connect.runtime.distributed.ExtendedAssignment;
import org.apache.kafka.connect.runtime.distributed.ExtendedWorkerState;
import org.apache.kafka.connect.runtime.distributed.IncrementalCooperativeConnectProtocol;
import org.apache.kafka.connect.util.ConnectorTaskId;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.internals.assignment.AssignmentInfo;
import org.apache.kafka.streams.state.HostInfo;

/** Prints what Connect's workers and Streams put into JoinGroup and SyncGroup: NAME VERSION HEX, a line each. */
public final class GroupData {
    private static final List<ConnectorTaskId> TASKS = List.of(new ConnectorTaskId("sink", 0), new ConnectorTaskId("sink", 1));

    private GroupData() {
    }

    public static void main(String[] arguments) {
        show("ConnectProtocolSubscription", 0,
            ConnectProtocol.serializeMetadata(new ConnectProtocol.WorkerState("http://a:8083/", 7)));
        show("ConnectProtocolAssignment", 0, ConnectProtocol.serializeAssignment(new ConnectProtocol.Assignment(
            (short) 0, "leader", "http://a:8083/", 7, List.of("sink"), TASKS)));
        for (int version = 1; version <= 2; version++) {
            ExtendedAssignment assignment = new ExtendedAssignment((short) version, (short) 0, "leader", "http://a:8083/",
                7, List.of("sink"), TASKS, List.of("old"), List.of(new ConnectorTaskId("old", 3)), 300);
            boolean sessioned = version == 2;
            show("ConnectProtocolAssignment", version,
                IncrementalCooperativeConnectProtocol.serializeAssignment(assignment, sessioned));
            show("ConnectProtocolSubscription", version, IncrementalCooperativeConnectProtocol.serializeMetadata(
                new ExtendedWorkerState("http://a:8083/", 7, assignment), sessioned));
            show("ConnectProtocolSubscription", version, IncrementalCooperativeConnectProtocol.serializeMetadata(
                new ExtendedWorkerState("http://a:8083/", 7, null), sessioned));
        }
        for (int version = 1; version <= 11; version++) {
            AssignmentInfo info = new AssignmentInfo(version, tasks(version),
                Map.of(task(version, 2, 5), partitions(5)), hosts(1), hosts(2), 0);
            info.setNextRebalanceTime(1234567890123L);
            show("AssignmentInfo", version, info.encode());
        }
    }

    private static TaskId task(int version, int subtopology, int partition) {
        return version < 10 ? new TaskId(subtopology, partition) : new TaskId(subtopology, partition, "näme");
    }

    private static List<TaskId> tasks(int version) {
        return List.of(task(version, 0, 1), new TaskId(0, 2));
    }

    private static Set<TopicPartition> partitions(int number) {
        return new LinkedHashSet<>(List.of(new TopicPartition("orders", number), new TopicPartition("payments", 1)));
    }

    private static Map<HostInfo, Set<TopicPartition>> hosts(int number) {
        Map<HostInfo, Set<TopicPartition>> found = new LinkedHashMap<>();
        found.put(new HostInfo("one", 9000), partitions(number));
        found.put(new HostInfo("two", 9001), partitions(number + 3));
        return found;
    }

    private static void show(String name, int version, ByteBuffer data) {
        byte[] bytes = new byte[data.remaining()];
        data.duplicate().get(bytes);
        System.out.println(name + " " + version + " " + HexFormat.of().formatHex(bytes));
    }
}
