import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;

/**
 * Reads messages with the classes that Kafka generates for itself, and writes them again.
 *
 * Standard input, a case a line:   NAME[,OLD NAME...] VERSION .HEX     (or - : the message as a new object has it;
 * or =JSON : as its converter reads it)
 * Standard output, an answer each: ok HEX JSON  |  absent WHY  |  error WHAT     (tabs between; JSON may be empty)
 */
public final class MessageOracle {
    /** Where Kafka's releases have kept generated messages, and what their class names end with. */
    private static final String[] PLACES = {
        "org.apache.kafka.common.message.%sData",
        "org.apache.kafka.common.message.%s",
        "org.apache.kafka.common.metadata.%s",
        "org.apache.kafka.raft.generated.%s",
        "org.apache.kafka.coordinator.group.generated.%s",
        "org.apache.kafka.coordinator.transaction.generated.%s",
        "org.apache.kafka.coordinator.share.generated.%s",
        "kafka.internals.generated.%s",
        "org.apache.kafka.streams.internals.generated.%s",
    };
    private static final Map<String, Optional<Class<?>>> CLASSES = new HashMap<>();
    private static final Map<Class<?>, Optional<Method>> CONVERTERS = new HashMap<>();

    private MessageOracle() {
    }

    public static void main(String[] arguments) throws IOException {
        BufferedReader cases = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        PrintStream answers = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = cases.readLine(); line != null; line = cases.readLine()) {
            String[] words = line.split(" ", 3);
            answers.print(answer(words[0].split(","), Short.parseShort(words[1]), words[2]));
            answers.print('\n');
        }
        answers.flush();
    }

    private static String answer(String[] names, short version, String bytes) {
        try {
            Optional<Class<?>> found = find(names);
            if (found.isEmpty()) {
                return "absent\tno class";
            }
            Message message = (Message) found.get().getDeclaredConstructor().newInstance();
            if (version < message.lowestSupportedVersion() || version > message.highestSupportedVersion()) {
                return "absent\tno such version";
            }
            if (bytes.startsWith("=")) {
                message = read(message.getClass(), bytes.substring(1), version);
            } else if (!bytes.equals("-")) {
                ByteBuffer input = ByteBuffer.wrap(HexFormat.of().parseHex(bytes, 1, bytes.length()));
                message.read(new ByteBufferAccessor(input), version);
                if (input.hasRemaining()) {
                    return "error\t" + input.remaining() + " bytes left over";
                }
            }
            return "ok\t" + written(message, version) + "\t" + json(message, version);
        } catch (InvocationTargetException wrapped) {
            return "error\t" + oneLine(wrapped.getCause());
        } catch (ReflectiveOperationException | IOException | RuntimeException failure) {
            return "error\t" + oneLine(failure);
        }
    }

    private static Message read(Class<?> message, String json, short version)
        throws ReflectiveOperationException, IOException {
        return (Message) Class.forName(message.getName() + "JsonConverter")
            .getMethod("read", JsonNode.class, short.class)
            .invoke(null, new ObjectMapper().readTree(json), version);
    }

    private static String written(Message message, short version) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer output = ByteBuffer.allocate(message.size(cache, version));
        message.write(new ByteBufferAccessor(output), cache, version);
        if (output.hasRemaining()) {
            throw new IllegalStateException("its own size is off by " + output.remaining());
        }
        return HexFormat.of().formatHex(output.array());
    }

    /** Records are given by their size; the oldest converters know no other way and take no such argument. */
    private static String json(Message message, short version) throws ReflectiveOperationException {
        Optional<Method> converter = CONVERTERS.computeIfAbsent(message.getClass(), MessageOracle::converter);
        if (converter.isEmpty()) {
            return "";
        }
        boolean withRecords = converter.get().getParameterCount() == 3;
        Object node = withRecords
            ? converter.get().invoke(null, message, version, false)
            : converter.get().invoke(null, message, version);
        return ((JsonNode) node).toString();
    }

    private static Optional<Method> converter(Class<?> message) {
        Method found = null;
        try {
            for (Method method : Class.forName(message.getName() + "JsonConverter").getMethods()) {
                if (method.getName().equals("write") && (found == null || method.getParameterCount() == 3)) {
                    found = method;
                }
            }
        } catch (ClassNotFoundException none) {
            return Optional.empty();
        }
        return Optional.ofNullable(found);
    }

    private static Optional<Class<?>> find(String[] names) {
        for (String name : names) {
            Optional<Class<?>> found = CLASSES.computeIfAbsent(name, MessageOracle::load);
            if (found.isPresent()) {
                return found;
            }
        }
        return Optional.empty();
    }

    private static Optional<Class<?>> load(String name) {
        for (String place : PLACES) {
            try {
                return Optional.of(Class.forName(String.format(place, name)));
            } catch (ClassNotFoundException elsewhere) {
                continue;
            }
        }
        return Optional.empty();
    }

    private static String oneLine(Throwable failure) {
        return failure.toString().replace('\n', ' ').replace('\t', ' ');
    }
}
