# mypy: allow-untyped-defs
"""The kernels of inference other than `inside_outside.joint`: CKY, Eisner, and Eisner-Satta with logarithms."""

from __future__ import annotations

from arcspan.decoding.kernels import binary, log_space, projective
from arcspan.decoding.kernels.compile import kernel
from arcspan.decoding.kernels.inside_outside import DONE, FORBIDDEN, UNSAFE, look


@kernel
def joint_in_logarithms(
    sentences, span, arc, headed, order, lengths, partition, spans, heads, parts, with_parts, status, wanted
):
    """Log-partition and, where wanted, marginals of sentences that `joint` found unsafe; their scores are in order."""
    for b in sentences:
        partition[b] = log_space.eisner_satta(
            span, arc, headed, order, b, lengths[b], spans[b], heads[b], parts, with_parts, wanted
        )
        status[b] = FORBIDDEN if partition[b] < log_space.NOTHING else DONE


@kernel
def spans_only(sentences, span, lengths, partition, spans, status, wanted):
    """Log-partition and marginals of binary trees over span scores alone."""
    for b in sentences:
        n = lengths[b]
        partition[b] = 0.0
        status[b], masked = look(span, None, b, n)
        if n > 0 and status[b] == DONE:
            status[b], partition[b] = binary.cky(span, b, n, spans[b], masked, wanted)
            if status[b] == UNSAFE:
                partition[b] = log_space.cky(span, b, n, spans[b], wanted)
                status[b] = FORBIDDEN if partition[b] < log_space.NOTHING else DONE


@kernel
def arcs_only(sentences, arc, lengths, partition, heads, status, wanted):
    """Log-partition and marginals of projective dependency trees over arc scores alone."""
    for b in sentences:
        n = lengths[b]
        partition[b] = 0.0
        status[b], masked = look(None, arc, b, n)
        if n > 0 and status[b] == DONE:
            status[b], partition[b] = projective.eisner(arc, b, n, heads[b], masked, wanted)
            if status[b] == UNSAFE:
                partition[b] = log_space.eisner(arc, b, n, heads[b], wanted)
                status[b] = FORBIDDEN if partition[b] < log_space.NOTHING else DONE
