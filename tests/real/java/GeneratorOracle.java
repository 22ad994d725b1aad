package org.apache.kafka.message;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.Base64;

/** Gives each definition (a line of base64 on standard input) to Kafka's generator: "ok", or why it is refused. */
public final class GeneratorOracle {
    public static void main(String[] args) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Path folder = Files.createTempDirectory("generator");
        Path out = Files.createDirectory(folder.resolve("out"));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            Path one = Files.createTempDirectory(folder, "in");
            Files.write(one.resolve("Draft.json"), Base64.getDecoder().decode(line));
            answers.println(verdict(one, out));
            answers.flush();
        }
    }

    private static String verdict(Path in, Path out) {
        try {
            MessageGenerator.processDirectories("kcli", out.toString(), in.toString(), Arrays.asList("ApiMessageTypeGenerator", "MetadataRecordTypeGenerator"),
                Arrays.asList("MessageDataGenerator", "JsonConverterGenerator"));
            return "ok";
        } catch (Throwable error) {
            Throwable cause = error;
            while (cause.getCause() != null) cause = cause.getCause();
            return String.valueOf(cause).replace('\n', ' ');
        }
    }
}
