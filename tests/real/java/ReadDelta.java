import org.apache.spark.sql.SparkSession;

/**
 * Prints the rows of Delta tables as JSON, read by Spark with Delta's own package: {@code ReadDelta QUERY...}. There
 * are few: the log is one partition instead of 50, and queries are interpreted, which takes half the processor time.
 */
public final class ReadDelta {
    private ReadDelta() {}

    public static void main(String[] queries) throws java.io.IOException {
        try (SparkSession spark = SparkSession.builder()
                .master("local[1]")
                .config("spark.ui.enabled", "false")
                .config("spark.sql.shuffle.partitions", "1")
                .config("spark.databricks.delta.snapshotPartitions", "1")
                .config("spark.sql.adaptive.enabled", "false")
                .config("spark.sql.codegen.wholeStage", "false")
                .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
                .config("spark.sql.session.timeZone", "UTC")
                .config("spark.driver.bindAddress", "127.0.0.1")
                .config("spark.driver.host", "127.0.0.1")
                .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
                .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
                .getOrCreate()) {
            for (String query : queries) {
                for (String row : spark.sql(query).toJSON().collectAsList()) {
                    System.out.println(row);
                }
                System.out.println();
            }
        }
    }
}
