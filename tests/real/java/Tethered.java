import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.util.Arrays;

/**
 * Runs another program's main, and ends this process when standard input ends: whoever started it holds the other
 * end, so that no broker outlives a test run, however that ended.
 */
public final class Tethered {
    private Tethered() {
    }

    public static void main(String[] arguments) throws Throwable {
        Thread watch = new Thread(Tethered::haltAtEnd, "tether");
        watch.setDaemon(true);
        watch.start();
        String[] rest = Arrays.copyOfRange(arguments, 1, arguments.length);
        try {
            Class.forName(arguments[0]).getMethod("main", String[].class).invoke(null, (Object) rest);
        } catch (InvocationTargetException wrapped) {
            throw wrapped.getCause();
        }
    }

    private static void haltAtEnd() {
        try {
            while (System.in.read() >= 0) {
                continue;
            }
        } catch (IOException gone) {
            // as good as the end
        }
        Runtime.getRuntime().halt(143);
    }
}
