"""The counters of a server, for Prometheus."""

from __future__ import annotations

from typing import Any

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

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Metrics:
    """One server's counters, in a registry of their own: several servers fit in one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        own: dict[str, Any] = {"registry": self.registry}
        ProcessCollector(**own)
        PlatformCollector(**own)
        self.info = Info("arcspan", "Version and model.", **own)
        self.requests = Counter("arcspan_requests", "Answered requests.", ("path", "status"), **own)
        about = "From a request's first line to the end of its answer, POST /parse only."
        self.seconds = Histogram("arcspan_request_seconds", about, buckets=_SECONDS, **own)
        self.sentences = Counter("arcspan_sentences", "Sentences in answers.", **own)
        self.words = Counter("arcspan_words", "Words in answers.", **own)
        self.waiting = Gauge("arcspan_waiting", "Requests waiting or in progress.", **own)
        self.reading = Gauge("arcspan_reading", "Requests whose bodies are still arriving.", **own)
        sizes, about = (1, 2, 4, 8, 16, 32, 64, 128), "Sentences parsed together."
        self.batch_sentences = Histogram("arcspan_batch_sentences", about, buckets=sizes, **own)
        about = "Time to parse a batch."
        self.batch_seconds = Histogram("arcspan_batch_seconds", about, buckets=_SECONDS, **own)

    def text(self) -> bytes:
        """All of them in Prometheus' text format."""
        return generate_latest(self.registry)
