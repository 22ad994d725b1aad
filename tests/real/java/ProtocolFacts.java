import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;

/** What a release says of errors and APIs: its enums, a constant a line. */
public final class ProtocolFacts {
    private ProtocolFacts() {}

    public static void main(String[] arguments) {
        for (Errors error : Errors.values()) {
            boolean retriable = error.exception() instanceof RetriableException;
            System.out.println("error " + error.code() + " " + error.name() + " " + retriable);
        }
        for (ApiKeys api : ApiKeys.values()) {
            String names = api.id + " " + api.name() + " " + api.name;
            System.out.println("api " + names + " " + api.oldestVersion() + " " + api.latestVersion());
            for (short version = api.oldestVersion(); version <= api.latestVersion(); version++) {
                int request = api.requestHeaderVersion(version);
                int response = api.responseHeaderVersion(version);
                System.out.println("header " + api.id + " " + version + " " + request + " " + response);
            }
        }
    }
}
