"""How a broker of the lab logs: to standard output, and each exchange to a request log when one is wanted."""

from pathlib import Path

from tests.real.maven import cache, locked

__all__ = ["quiet", "write"]

# log4j 2, since 4.0
NEW = """
rootLogger.level={level}
rootLogger.appenderRef.out.ref=OUT
appender.out.type=Console
appender.out.name=OUT
appender.out.target=SYSTEM_ERR
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=[%d] %p %m (%c)%n
"""
NEW_REQUESTS = """
appender.req.type=File
appender.req.name=REQ
appender.req.fileName={file}
appender.req.layout.type=PatternLayout
appender.req.layout.pattern=%d{ISO8601} %m%n
logger.req.name=kafka.request.logger
logger.req.level=DEBUG
logger.req.additivity=false
logger.req.appenderRef.req.ref=REQ
"""
# log4j 1, before
OLD = """
log4j.rootLogger={level}, OUT
log4j.appender.OUT=org.apache.log4j.ConsoleAppender
log4j.appender.OUT.target=System.err
log4j.appender.OUT.layout=org.apache.log4j.PatternLayout
log4j.appender.OUT.layout.ConversionPattern=[%d] %p %m (%c)%n
"""
OLD_REQUESTS = """
log4j.appender.REQ=org.apache.log4j.FileAppender
log4j.appender.REQ.File={file}
log4j.appender.REQ.layout=org.apache.log4j.PatternLayout
log4j.appender.REQ.layout.ConversionPattern=%d{ISO8601} %m%n
log4j.logger.kafka.request.logger={detail}, REQ
log4j.additivity.kafka.request.logger=false
"""


def write(folder: Path, release: tuple[int, ...], requests: Path | None = None, level: str = "INFO") -> None:
    """Put the logging configuration into a folder that goes onto the classpath; `requests` is the request log.

    Before 2.8 the request log is text, and whole only at TRACE.
    """
    new = release >= (4,)
    text = NEW if new else OLD
    if requests:
        text += NEW_REQUESTS if new else OLD_REQUESTS
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / ("log4j2.properties" if new else "log4j.properties")
    detail = "DEBUG" if release >= (2, 8) else "TRACE"
    for name, value in (("level", level), ("file", str(requests)), ("detail", detail)):
        text = text.replace(f"{{{name}}}", value)
    file.write_text(text)


def quiet(release: tuple[int, ...]) -> Path:
    """Classpath entry that keeps Kafka's command-line classes of a release from logging to standard output."""
    folder = cache() / "quiet" / (".".join(map(str, release)))
    with locked("quiet"):
        write(folder, release, level="WARN")
    return folder
