import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Runs the main methods of Kafka's command-line classes one after the other, as a JVM's start takes longer than what
 * most of them do.
 *
 * Standard input: for each, how many words, then each word and last what it finds on its standard input, all as a length
 * (big-endian int) and bytes. The first word is the class. Standard output: exit code, and what it wrote to its two
 * outputs in the same form.
 */
public final class Commands {
    private Commands() {
    }

    /** What ends a command instead of the process. */
    private static final class Ended extends Error {
        private static final long serialVersionUID = 1;
    }

    /** What the command under way writes; always the same two, as Scala's println keeps the output that it found first. */
    private static final ByteArrayOutputStream SAID = new ByteArrayOutputStream();
    private static final ByteArrayOutputStream WRONG = new ByteArrayOutputStream();

    /** The exit code that the command under way asked for first: some catch what ends them, and ask again. */
    private static Integer asked;

    public static void main(String[] arguments) throws Exception {
        DataInputStream in = new DataInputStream(System.in);
        DataOutputStream out = new DataOutputStream(System.out);
        System.setOut(new PrintStream(SAID, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(WRONG, true, StandardCharsets.UTF_8));
        endCommandsOnly();
        while (true) {
            String[] words;
            try {
                words = new String[in.readInt()];
            } catch (EOFException over) {
                Runtime.getRuntime().halt(0); // whatever threads they have left
                return;
            }
            for (int i = 0; i < words.length; i++) {
                words[i] = new String(block(in), StandardCharsets.UTF_8);
            }
            System.setIn(new ByteArrayInputStream(block(in)));
            answer(words, out);
        }
    }

    private static void answer(String[] words, DataOutputStream out) throws IOException {
        out.writeInt(run(words));
        for (ByteArrayOutputStream each : new ByteArrayOutputStream[] {SAID, WRONG}) {
            out.writeInt(each.size());
            each.writeTo(out);
            each.reset();
        }
        out.flush();
    }

    /** Its exit code; 1 where it throws, as a JVM of its own would have it. */
    private static int run(String[] words) {
        String[] rest = Arrays.copyOfRange(words, 1, words.length);
        asked = null;
        try {
            Class.forName(words[0]).getMethod("main", String[].class).invoke(null, (Object) rest);
        } catch (InvocationTargetException wrapped) {
            if (asked == null) {
                wrapped.getCause().printStackTrace();
                return 1;
            }
        } catch (ReflectiveOperationException wrong) {
            wrong.printStackTrace();
            return 1;
        }
        return asked == null ? 0 : asked;
    }

    /** Kafka's own Exit, which all of its commands end by, throws. Clients before 0.11 have none. */
    private static void endCommandsOnly() throws ReflectiveOperationException {
        Class<?> exit = exitClass();
        if (exit == null) {
            return;
        }
        Class<?> procedure = Class.forName(exit.getName() + "$Procedure");
        Object ending = Proxy.newProxyInstance(procedure.getClassLoader(), new Class<?>[] {procedure},
            (proxy, method, given) -> {
                asked = asked == null ? (Integer) given[0] : asked;
                throw new Ended();
            });
        exit.getMethod("setExitProcedure", procedure).invoke(null, ending);
        exit.getMethod("setHaltProcedure", procedure).invoke(null, ending);
    }

    private static Class<?> exitClass() {
        for (String place : new String[] {"internals.Exit", "Exit"}) { // the first since 4.4
            try {
                return Class.forName("org.apache.kafka.common.utils." + place);
            } catch (ClassNotFoundException elsewhere) {
                continue;
            }
        }
        return null;
    }

    private static byte[] block(DataInputStream in) throws IOException {
        byte[] bytes = new byte[in.readInt()];
        in.readFully(bytes);
        return bytes;
    }
}
