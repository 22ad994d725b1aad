from kcli.core.capture.streams import Streams

class Sink:
    def begin(self, streams: Streams) -> None: ...
