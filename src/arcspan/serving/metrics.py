"""What a server counts, for Prometheus."""

from __future__ import annotations

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST

CONTENT_TYPE: str = CONTENT_TYPE_LATEST
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Metrics:
    """One server's counters, in a registry of their own: several servers fit in one process.

    >>> Metrics().text().startswith(b"# HELP")
    True
    """

    def __init__(self) -> None:
        registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        self.registry = registry
        self.info = Info("arcspan", "Version and model.", registry=registry)
        self.requests = Counter(
            "arcspan_requests", "Answered requests.", ("path", "status"), registry=registry
        )
        self.seconds = Histogram(
            "arcspan_request_seconds",
            "From a request's first line to the end of its answer, POST /parse only.",
            buckets=_SECONDS,
            registry=registry,
        )
        self.sentences = Counter("arcspan_sentences", "Sentences in answers.", registry=registry)
        self.words = Counter("arcspan_words", "Words in answers.", registry=registry)
        self.waiting = Gauge("arcspan_waiting", "Requests that wait or are worked on.", registry=registry)
        self.reading = Gauge("arcspan_reading", "Requests whose bodies are on their way.", registry=registry)
        self.batch_sentences = Histogram(
            "arcspan_batch_sentences",
            "Sentences parsed together.",
            buckets=(1, 2, 4, 8, 16, 32, 64, 128),
            registry=registry,
        )
        self.batch_seconds = Histogram(
            "arcspan_batch_seconds", "Time to parse a batch.", buckets=_SECONDS, registry=registry
        )

    def text(self) -> bytes:
        """All of them in the text format."""
        found: bytes = generate_latest(self.registry)
        return found
