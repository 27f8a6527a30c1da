"""The three distributions: one class of all that they share, and what their scores are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np
import torch
from torch import Tensor

from arcspan import decoding
from arcspan.decoding import batched
from arcspan.decoding.batch import best
from arcspan.decoding.constraints import Arc, Constraint, Span, constrain
from arcspan.distributions.sums import Marginals, Sums
from arcspan.distributions.trees import Trees, check, score, stack_spans
from arcspan.errors import ScoreError, check_count

Numbers: TypeAlias = Tensor | np.ndarray | None
Lengths: TypeAlias = Numbers | Sequence[int]
Constraints: TypeAlias = Iterable[Constraint] | Iterable[Iterable[Constraint]]
Self = TypeVar("Self", bound="TreeDistribution")


class TreeDistribution:
    """A distribution over the trees of each sentence of a batch, given by the scores of their parts.

    The scores are tensors: span [B, n+1, n+1] as span[b, i, j], arc [B, n+1, n+1] as arc[b, modifier, head], headed
    [B, n+1, n+1, n+1] as headed[b, i, j, h] (or packed [B, pairs, n+1], see `decoding.eisner_satta`); lengths [B] are
    all n by default. Padding is not read, and -inf forbids a part. Results have the type and the device of the scores.
    A sentence without any tree, or with a score of NaN or plus infinity, raises ScoreError.

    log_partition, max, marginals, entropy, score, log_prob, kl and cross_entropy are differentiable in the scores. Sums
    are computed once: where scores change in place, make a new distribution.
    """

    def __init__(
        self, span: Tensor | None, arc: Tensor | None, headed: Tensor | None, lengths: Lengths
    ) -> None:
        some = arc if span is None else span
        if not isinstance(some, Tensor) or some.dim() != 3:
            raise ScoreError("scores of spans or arcs must be a tensor of the shape [B, n+1, n+1]")
        full = [some.shape[1] - 1] * len(some)
        _, self.lengths = batched.check(span, arc, full if lengths is None else lengths, headed)
        self._host = self.lengths.cpu().numpy()
        self._sums = Sums(batched.Scores(span, arc, headed), self._host)

    @property
    def size(self) -> int:
        """The positions of the longest sentence, n + 1."""
        return int(self._sums.given.some.shape[1])

    def __len__(self) -> int:
        return len(self.lengths)

    def __repr__(self) -> str:
        order = ", second order" if self._sums.scores.headed is not None else ""
        return f"{type(self).__name__}(B={len(self)}, n={self.size - 1}{order})"

    @property
    def log_partition(self) -> Tensor:
        """The logarithm of the sum over all trees of exp(score), [B]; its gradient is the marginals."""
        return self._sums.log_partition()

    @property
    def argmax(self) -> Trees:
        """The best trees, one per sentence."""
        search: Any = batched.best if self._sums.on_device else best
        span, arc, headed = self._sums.scores if self._sums.on_device else self._sums.arrays()
        return self._trees(search(span, arc, self._host, headed))

    @property
    def max(self) -> Tensor:
        """The scores of the best trees, [B]; the gradient is 1 at each of their parts."""
        return self.score(self.argmax)

    @property
    def entropy(self) -> Tensor:
        """-E[log p], [B], in nats: log_partition - <marginals, scores>."""
        return self.cross_entropy(self)

    def score(self, trees: Any) -> Tensor:
        """The sums [..., B] of the scores of trees' parts: log_prob + log_partition, without a check of the trees."""
        return score(self._sums.scores, self.lengths, *self._layers(trees))

    def log_prob(self, trees: Any) -> Tensor:
        """The log-probabilities [..., B] of `Trees` or `decoding.Decoded`; what is not a tree raises ScoreError."""
        heads, spans = self._layers(trees)
        check(self.lengths, heads, spans)
        return score(self._sums.scores, self.lengths, heads, spans) - self.log_partition

    def cross_entropy(self: Self, other: Self) -> Tensor:
        """-E[log q], [B], q another distribution of the same kind; inf where q forbids what is possible here."""
        if type(self) is not type(other) or not np.array_equal(self._host, other._host):
            raise ScoreError(f"{self!r} and {other!r} are not over the same trees")
        total = other.log_partition
        chances = self._sums.marginals(with_headed=other._sums.scores.headed is not None)
        for chance, scores in zip(chances, other._sums.scores, strict=True):
            if chance is not None and scores is not None:
                used = torch.where(
                    chance.detach() > 0, scores, 0
                )  # not the padding, which may hold anything
                finite = used.detach() > -torch.inf
                expected = torch.where(finite, chance * torch.where(finite, used, 0), used)
                total = total - expected.flatten(1).sum(1)
        return total

    def kl(self: Self, other: Self) -> Tensor:
        """The divergence KL(self || other) = E[log p - log q], [B]."""
        return self.cross_entropy(other) - self.entropy

    def sample(self, k: int = 1, *, generator: torch.Generator | None = None) -> Trees:
        """Draw k trees of every sentence, [k, B], independently, each with its exact probability."""
        check_count("k", k, ScoreError)
        span, arc, headed = self._sums.arrays()
        seed = int(torch.randint(2**63 - 1, (), generator=generator))
        return self._several(decoding.sample(span, arc, self._host, headed, k=k, random=seed), k)

    def topk(self, k: int) -> Trees:
        """The k best trees of every sentence, [k, B], best first; scores are -inf where a sentence has fewer."""
        check_count("k", k, ScoreError)
        span, arc, headed = self._sums.arrays()
        visible = None
        if arc is None:
            assert span is not None
            # One way to choose heads is enough: the first word of each span.
            arc = np.full_like(span, -np.inf)
            m, h = np.tril_indices(span.shape[1], -1)
            arc[:, m, h] = 0
            arc[:, 2:, 0] = -np.inf
        elif span is None:
            # Trees that differ in their spans alone count once.
            span, visible = np.zeros_like(arc), np.zeros(arc.shape, bool)
        return self._several(decoding.kbest(span, arc, self._host, k, headed, visible=visible), k)

    def mbr(self) -> Trees:
        """The trees with the greatest expected number of right spans and arcs (minimum Bayes risk)."""
        span, arc, headed = self._sums.arrays()
        return self._trees(decoding.minimum_bayes_risk(span, arc, self._host, headed))

    def condition(self: Self, require: Constraints = (), forbid: Constraints = ()) -> Self:
        """The distribution given that the trees have some parts and lack others.

        Constraints are `Span(i, j)`, `Arc(head, modifier)`, `Root(word)` and `Head(i, j, head)`: one list for all
        sentences, or a list of lists, one per sentence.
        """
        required, forbidden = self._per_sentence(require), self._per_sentence(forbid)
        size = self.size
        span, arc = np.zeros((2, len(self), size, size), bool)
        headed = None
        for b, n in enumerate(self._host.tolist()):
            masks = constrain(n, required[b], forbidden[b])
            span[b, : n + 1, : n + 1], arc[b, : n + 1, : n + 1] = masks.span < 0, masks.arc < 0
            if masks.headed is not None:
                headed = np.zeros((len(self), size, size, size), bool) if headed is None else headed
                headed[b, : n + 1, : n + 1, : n + 1] = masks.headed < 0
        given = self._sums.given.headed
        if headed is not None and given is not None and given.dim() == 3:
            i, j = np.triu_indices(size, 1)
            headed = headed[:, i, j]
        return self.masked(span, arc, headed)

    def masked(
        self: Self, span: Numbers = None, arc: Numbers = None, headed: Numbers = None
    ) -> Self:
        """The distribution given that trees lack the parts where a mask, shaped as the scores, is true."""
        scores = self._sums.given
        if headed is not None and scores.headed is None:
            scores = scores._replace(headed=scores.some.new_zeros(headed.shape))
        return self._like(
            part
            if part is None or mask is None
            else part.masked_fill(torch.as_tensor(mask, device=part.device), -torch.inf)
            for part, mask in zip(scores, (span, arc, headed), strict=True)
        )

    def plus(self: Self, span: Numbers, arc: Numbers) -> Self:
        """The distribution with numbers added to the scores of spans and arcs, such as costs; it has no gradients."""
        return self._like(
            None
            if part is None
            else part.detach() + (0 if more is None else torch.as_tensor(more).to(part))
            for part, more in zip(self._sums.given, (span, arc, None), strict=True)
        )

    def rows(self: Self, chosen: Sequence[int] | np.ndarray) -> Self:
        """The distributions of some of the sentences."""
        if np.array_equal(chosen, np.arange(len(self))):
            return self
        at = torch.as_tensor(chosen, device=self.lengths.device)
        return self._like(
            (None if part is None else part[at] for part in self._sums.given), self.lengths[at]
        )

    def _like(self: Self, scores: Iterable[Tensor | None], lengths: Tensor | None = None) -> Self:
        found = object.__new__(type(self))
        span, arc, headed = scores
        TreeDistribution.__init__(
            found, span, arc, headed, self.lengths if lengths is None else lengths
        )
        return found

    def _per_sentence(self, constraints: Constraints) -> list[list[Constraint]]:
        given: list[Any] = list(constraints)
        apart = bool(given) and isinstance(given[0], list | tuple)
        rows = [list(one) for one in given] if apart else [given] * len(self)
        if len(rows) != len(self):
            raise ScoreError(f"{len(rows)} lists of constraints for {len(self)} sentences")
        kind = (
            Arc
            if self._sums.scores.span is None
            else Span
            if self._sums.scores.arc is None
            else None
        )
        for one in (one for row in rows for one in row):
            if kind is not None and not isinstance(one, kind):
                raise ScoreError(
                    f"{type(self).__name__} can be given {kind.__name__} constraints only, not {one!r}"
                )
        return rows

    def _layers(self, trees: Any) -> tuple[Tensor | None, Tensor | None]:
        """The heads [..., B, n+1] and the spans [..., B, 2n-1, columns] of trees, of the layers that have scores."""
        span, arc, _ = self._sums.scores
        count, size = len(self), self.size
        heads = spans = None
        if arc is not None:
            heads = torch.as_tensor(getattr(trees, "heads", trees), device=self.lengths.device)
            if heads.shape[-2:] != (count, size):
                raise ScoreError(
                    f"heads must have the shape [..., {count}, {size}], not {list(heads.shape)}"
                )
        if span is not None:
            columns = 2 if arc is None else 3
            spans = getattr(trees, "spans", trees)
            if not isinstance(spans, Tensor):
                spans = stack_spans(spans, size, columns)
            shape = (count, max(2 * size - 3, 0))
            if spans.shape[-3:-1] != shape or spans.shape[-1] < columns:
                raise ScoreError(
                    f"spans must have the shape [..., {shape[0]}, {shape[1]}, {columns}], not {list(spans.shape)}"
                )
            spans = spans[..., :columns].to(self.lengths.device)
        return heads, spans

    def _trees(self, found: Any, *lead: int) -> Trees:
        """What a search has found as tensors: one tree per sentence, or k in turn where the axis `lead` is k."""
        count, size = len(self), self.size
        heads = spans = None
        if self._sums.scores.arc is not None:
            heads = torch.as_tensor(found.heads, device=self.lengths.device).view(
                *lead, count, size
            )
        if self._sums.scores.span is not None:
            columns = 2 if heads is None else 3
            stacked = stack_spans(found.spans, size, columns).to(self.lengths.device)
            spans = stacked.view(*lead, count, *stacked.shape[-2:])
        with torch.no_grad():
            return Trees(heads, spans, score(self._sums.scores, self.lengths, heads, spans))

    def _several(self, found: list[decoding.Decoded], k: int) -> Trees:
        """Up to k trees of each sentence."""
        count, size = len(self), self.size
        heads = np.zeros((k * count, size), np.int64)
        spans = [np.zeros((0, 3), np.int64)] * (k * count)
        there = np.zeros(k * count, bool)
        for b, own in enumerate(found):
            rows = slice(b, b + len(own.scores) * count, count)
            there[rows] = True
            if own.heads is not None:
                heads[rows] = own.heads
            if own.spans is not None:
                spans[rows] = own.spans
        trees = self._trees(decoding.Decoded(heads, spans, np.zeros(0)), k)
        kept = torch.from_numpy(there).view(k, count).to(trees.scores.device)
        return trees._replace(scores=trees.scores.where(kept, -torch.inf))


class ConstituencyTrees(TreeDistribution):
    """Binary constituency trees; a tree's score is the sum of span[b, i, j] over its 2n-1 spans.

    >>> trees = ConstituencyTrees(torch.zeros(1, 4, 4))
    >>> trees.log_partition.exp().round().tolist(), trees.marginals[0, 0, 2].item()
    ([2.0], 0.5)
    """

    def __init__(self, span: Tensor, lengths: Lengths = None) -> None:
        super().__init__(span, None, None, lengths)

    @property
    def marginals(self) -> Tensor:
        """The probability [B, n+1, n+1] of each span."""
        return self._sums.marginals().spans  # type: ignore[return-value]


class DependencyTrees(TreeDistribution):
    """Projective dependency trees with one root; a tree's score is the sum of arc[b, m, h] over its n arcs.

    >>> trees = DependencyTrees(torch.zeros(1, 3, 3))
    >>> trees.marginals[0].tolist(), trees.log_prob(torch.tensor([[0, 2, 0]])).exp().tolist()
    ([[0.0, 0.0, 0.0], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]], [0.5])
    """

    def __init__(self, arc: Tensor, lengths: Lengths = None) -> None:
        super().__init__(None, arc, None, lengths)

    @property
    def marginals(self) -> Tensor:
        """The probability [B, n+1, n+1] of each arc, as [b, modifier, head]."""
        return self._sums.marginals().arcs  # type: ignore[return-value]


class LexicalizedTrees(TreeDistribution):
    """Binary trees whose spans have heads: a constituency and a dependency tree that fit each other.

    A tree's score is the sum over its spans and its arcs; with `headed`, also over its headed spans, and over the
    hooked span of each word but the root: the largest span that the word heads, with the word's own head.

    >>> trees = LexicalizedTrees(torch.zeros(1, 4, 4), torch.zeros(1, 4, 4))
    >>> trees.log_partition.exp().round().tolist(), trees.sample(5).heads.shape
    ([8.0], torch.Size([5, 1, 4]))
    """

    def __init__(
        self, span: Tensor, arc: Tensor, headed: Tensor | None = None, lengths: Lengths = None
    ) -> None:
        super().__init__(span, arc, headed, lengths)

    @property
    def marginals(self) -> Marginals:
        """The probabilities of spans, of arcs and, where these have scores, of headed and hooked spans."""
        found = self._sums.marginals()
        given = self._sums.given.headed
        if found.headed is None or given is None or given.dim() == 3:
            return found
        size = found.headed.shape[-1]
        cube = found.headed.new_zeros(len(self), size, size, size)
        i, j = torch.triu_indices(size, size, 1, device=cube.device)
        cube[:, i, j] = found.headed
        return found._replace(headed=cube)
