package org.apache.kafka.controller;

import java.util.List;
import java.util.Map;
import java.util.Optional;

import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.metadata.AbortTransactionRecord;
import org.apache.kafka.common.metadata.AccessControlEntryRecord;
import org.apache.kafka.common.metadata.BeginTransactionRecord;
import org.apache.kafka.common.metadata.BrokerRegistrationChangeRecord;
import org.apache.kafka.common.metadata.ClearElrRecord;
import org.apache.kafka.common.metadata.ClientQuotaRecord;
import org.apache.kafka.common.metadata.ConfigRecord;
import org.apache.kafka.common.metadata.EndTransactionRecord;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.metadata.FenceBrokerRecord;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.ProducerIdsRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.metadata.RegisterControllerRecord;
import org.apache.kafka.common.metadata.RemoveAccessControlEntryRecord;
import org.apache.kafka.common.metadata.RemoveTopicRecord;
import org.apache.kafka.common.metadata.RemoveUserScramCredentialRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.metadata.UnfenceBrokerRecord;
import org.apache.kafka.common.metadata.UnregisterBrokerRecord;
import org.apache.kafka.common.metadata.UnregisterControllerRecord;
import org.apache.kafka.common.metadata.UserScramCredentialRecord;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.utils.internals.LogContext;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.metadata.KafkaConfigSchema;
import org.apache.kafka.metadata.util.BatchFileReader;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.timeline.SnapshotRegistry;

/** Replays metadata logs with the managers of a 4.4 controller and with an image's delta: the first offset refused, or -1. */
public class ControllerReplay {
    private final SnapshotRegistry registry = new SnapshotRegistry(new LogContext());
    private final FeatureControlManager features = new FeatureControlManager.Builder().setSnapshotRegistry(registry)
        .setQuorumFeatures(new QuorumFeatures(1, QuorumFeatures.defaultSupportedFeatureMap(true), List.of(1))).build();
    private final ClusterControlManager cluster = new ClusterControlManager.Builder().setSnapshotRegistry(registry)
        .setFeatureControlManager(features).setBrokerShutdownHandler((id, shutdown, records) -> { }).build();
    private final ConfigurationControlManager configs = new ConfigurationControlManager.Builder().setSnapshotRegistry(registry)
        .setKafkaConfigSchema(new KafkaConfigSchema(Map.<ConfigResource.Type, ConfigDef>of(), Map.of()))
        .setFeatureControl(features).build();
    private final ReplicationControlManager replication = new ReplicationControlManager.Builder().setSnapshotRegistry(registry)
        .setConfigurationControl(configs).setClusterControl(cluster).setFeatureControl(features).build();
    private final ProducerIdControlManager producers = new ProducerIdControlManager.Builder().setSnapshotRegistry(registry)
        .setClusterControlManager(cluster).build();
    private final AclControlManager acls = new AclControlManager.Builder().setSnapshotRegistry(registry).build();
    private final ScramControlManager scram = new ScramControlManager.Builder().setSnapshotRegistry(registry).build();
    private final ClientQuotaControlManager quotas = new ClientQuotaControlManager.Builder().setSnapshotRegistry(registry).build();
    private final OffsetControlManager offsets = new OffsetControlManager.Builder().setSnapshotRegistry(registry).build();
    private final MetadataDelta delta = new MetadataDelta.Builder().setImage(MetadataImage.EMPTY).build();

    private void replay(ApiMessage message, long offset) {
        registry.idempotentCreateSnapshot(offset - 1);
        switch (message.getClass().getSimpleName()) {
            case "RegisterBrokerRecord" -> cluster.replay((RegisterBrokerRecord) message, offset);
            case "UnregisterBrokerRecord" -> cluster.replay((UnregisterBrokerRecord) message);
            case "FenceBrokerRecord" -> cluster.replay((FenceBrokerRecord) message);
            case "UnfenceBrokerRecord" -> cluster.replay((UnfenceBrokerRecord) message);
            case "BrokerRegistrationChangeRecord" -> cluster.replay((BrokerRegistrationChangeRecord) message);
            case "RegisterControllerRecord" -> cluster.replay((RegisterControllerRecord) message);
            case "UnregisterControllerRecord" -> cluster.replay((UnregisterControllerRecord) message);
            case "TopicRecord" -> replication.replay((TopicRecord) message);
            case "RemoveTopicRecord" -> replication.replay((RemoveTopicRecord) message);
            case "PartitionRecord" -> replication.replay((PartitionRecord) message);
            case "PartitionChangeRecord" -> replication.replay((PartitionChangeRecord) message);
            case "ClearElrRecord" -> replication.replay((ClearElrRecord) message);
            case "ConfigRecord" -> configs.replay((ConfigRecord) message);
            case "FeatureLevelRecord" -> features.replay((FeatureLevelRecord) message);
            case "ProducerIdsRecord" -> producers.replay((ProducerIdsRecord) message);
            case "AccessControlEntryRecord" -> acls.replay((AccessControlEntryRecord) message);
            case "RemoveAccessControlEntryRecord" -> acls.replay((RemoveAccessControlEntryRecord) message);
            case "UserScramCredentialRecord" -> scram.replay((UserScramCredentialRecord) message);
            case "RemoveUserScramCredentialRecord" -> scram.replay((RemoveUserScramCredentialRecord) message);
            case "ClientQuotaRecord" -> quotas.replay((ClientQuotaRecord) message);
            case "BeginTransactionRecord" -> offsets.replay((BeginTransactionRecord) message, offset);
            case "EndTransactionRecord" -> offsets.replay((EndTransactionRecord) message, offset);
            case "AbortTransactionRecord" -> offsets.replay((AbortTransactionRecord) message, offset);
            default -> delta.replay(message);  // tokens: what their manager takes, the image may refuse
        }
    }

    private static String judge(String file) throws Exception {
        ControllerReplay state = new ControllerReplay();
        long offset = 0;
        try (BatchFileReader reader = new BatchFileReader.Builder().setPath(file).build()) {
            while (reader.hasNext()) {
                BatchFileReader.BatchAndType next = reader.next();
                offset = next.batch().baseOffset();
                if (next.isControl()) {
                    continue;
                }
                for (ApiMessageAndVersion record : next.batch().records()) {
                    state.replay(record.message(), offset);
                    offset++;
                }
            }
        } catch (Throwable error) {
            return offset + " " + String.valueOf(error).replace('\n', ' ');
        }
        return "-1 taken";
    }

    public static void main(String[] files) throws Exception {
        for (String file : files) {
            System.out.println(judge(file));
        }
    }
}
