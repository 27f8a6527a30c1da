"""The counters of a server, for Prometheus."""

from __future__ import annotations

from functools import partial

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
_BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)


class Metrics:
    """One server's counters, in a registry of their own: several servers fit in one process."""

    def __init__(self) -> None:
        # Not the library's own registry, which is one for the process.
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        counter = partial(Counter, registry=registry)
        gauge = partial(Gauge, registry=registry)
        histogram = partial(Histogram, registry=registry)
        self.info = Info("arcspan", "Version and model.", registry=registry)
        self.requests = counter("arcspan_requests", "Answered requests.", ("path", "status"))
        self.seconds = histogram(
            "arcspan_request_seconds",
            "From a request's first line to the end of its answer, POST /parse only.",
            buckets=_SECONDS,
        )
        self.sentences = counter("arcspan_sentences", "Sentences in answers.")
        self.words = counter("arcspan_words", "Words in answers.")
        self.waiting = gauge("arcspan_waiting", "Requests waiting or in progress.")
        self.reading = gauge("arcspan_reading", "Requests whose bodies are still arriving.")
        self.batch_sentences = histogram(
            "arcspan_batch_sentences", "Sentences parsed together.", buckets=_BATCH_SIZES
        )
        self.batch_seconds = histogram(
            "arcspan_batch_seconds", "Time to parse a batch.", buckets=_SECONDS
        )

    def text(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return generate_latest(self.registry)
