"""Define the three distributions over trees: one base class of all that they share, and their
scores.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np
import torch
from torch import Tensor

from arcspan import decoding
from arcspan.decoding import batched
from arcspan.decoding.batch import best, pack_cubes
from arcspan.decoding.batched import Part, ScoreTensors
from arcspan.decoding.constraints import (
    ArcConstraint,
    SpanConstraint,
    TreeConstraint,
    constrain,
)
from arcspan.distributions.sums import MarginalTensors, Sums
from arcspan.distributions.trees import Trees, check, score, stack_spans
from arcspan.errors import ScoreError, check_count

Numbers: TypeAlias = Tensor | np.ndarray | None
Lengths: TypeAlias = Numbers | Sequence[int]
Constraints: TypeAlias = Iterable[TreeConstraint] | Iterable[Iterable[TreeConstraint]]
Self = TypeVar("Self", bound="TreeDistribution")


class TreeDistribution:
    """A distribution over the trees of each sentence of a batch, defined by the scores of their
    parts.

    The scores are tensors: span [B, n+1, n+1] as span[b, i, j], arc [B, n+1, n+1] as arc[b,
    modifier, head], headed [B, n+1, n+1, n+1] as headed[b, i, j, h] (or packed [B, pairs, n+1], see
    `decoding.eisner_satta`); lengths [B] are all n by default. Padding is not read, and -inf
    forbids a part. Results have the type and the device of the scores. A sentence without any tree,
    or with a score of NaN or plus infinity, raises ScoreError.

    log_partition, max, marginals, entropy, score, log_prob, kl and cross_entropy are differentiable
    in the scores. Sums are computed once: where scores change in place, make a new distribution.
    """

    # The only type of constraints that such trees can meet, and its public name.
    _only_constraint: tuple[type, str] = (object, "")

    def __init__(self, span: Part, arc: Part, headed: Part, lengths: Lengths) -> None:
        layer = arc if span is None else span
        if not isinstance(layer, Tensor) or layer.dim() != 3:
            raise ScoreError("scores of spans or arcs must be a tensor of the shape [B, n+1, n+1]")
        for name, part in (("span", span), ("arc", arc), ("headed", headed)):
            if part is not None:
                _check_tensor(name, part)
        if lengths is None:
            lengths = [layer.shape[1] - 1] * len(layer)
        _, self.lengths = batched.check(span, arc, lengths, headed)
        self._host_lengths = self.lengths.cpu().numpy()
        self._sums = Sums(ScoreTensors(span, arc, headed), self._host_lengths)

    @property
    def size(self) -> int:
        """Return the positions of the longest sentence, n + 1."""
        return int(self._sums.scores.layer.shape[1])

    def __len__(self) -> int:
        return len(self.lengths)

    def __repr__(self) -> str:
        order = "" if self._sums.scores.headed is None else ", second order"
        return f"{type(self).__name__}(B={len(self)}, n={self.size - 1}{order})"

    @property
    def log_partition(self) -> Tensor:
        """Return the logarithm of the sum over all trees of exp(score), [B].

        Its gradient is the marginals.
        """
        return self._sums.log_partition()

    @property
    def argmax(self) -> Trees:
        """Return the best trees, one per sentence."""
        if self._sums.on_device:
            span, arc, headed = self._sums.packed
            return self._trees(batched.best(span, arc, self.lengths, headed))
        return self._trees(best(*self._host_arguments(), double=self._is_double()))

    @property
    def max(self) -> Tensor:
        """Return the scores of the best trees, [B]; the gradient is 1 at each of their parts."""
        return self.score(self.argmax)

    @property
    def entropy(self) -> Tensor:
        """Return -E[log p], [B], in nats: log_partition - <marginals, scores>."""
        return self.cross_entropy(self)

    def score(self, trees: Any) -> Tensor:
        """Return the sums [..., B] of the scores of trees' parts, without a check of the trees.

        That is log_prob + log_partition.
        """
        return score(self._sums.packed, self.lengths, *self._layers(trees))

    def log_prob(self, trees: Any) -> Tensor:
        """Return the log-probabilities [..., B] of `Trees` or `decoding.Decoded`.

        Raises ScoreError for anything that is not a tree.
        """
        heads, spans = self._layers(trees)
        check(self.lengths, heads, spans)
        return score(self._sums.packed, self.lengths, heads, spans) - self.log_partition

    def cross_entropy(self: Self, other: Self) -> Tensor:
        """Return -E[log q], [B], for another distribution q over the same trees.

        It is inf if q forbids what is possible here.
        """
        difference = self._difference(other)
        if difference:
            raise ScoreError(f"{self!r} and {other!r} are not over the same trees: {difference}")
        total = other.log_partition
        marginals = self._sums.marginals(with_headed=other._sums.scores.headed is not None)
        for chances, scores in zip(marginals, other._sums.packed, strict=True):
            if chances is None or scores is None:
                continue
            # Not the padding, which may hold anything.
            used = torch.where(chances.detach() > 0, scores, 0)
            finite = used.detach() > -torch.inf
            # A possible part that the other one forbids: -inf, without the gradient NaN of 0 * inf.
            expected = torch.where(finite, chances * torch.where(finite, used, 0), used)
            total = total - expected.flatten(1).sum(1)
        return total

    def kl(self: Self, other: Self) -> Tensor:
        """Return the divergence KL(self || other) = E[log p - log q], [B]."""
        return self.cross_entropy(other) - self.entropy

    def sample(self, k: int = 1, *, generator: torch.Generator | None = None) -> Trees:
        """Draw k trees of every sentence, [k, B], independently, each with its exact probability."""
        check_count("k", k, ScoreError)
        seed = int(torch.randint(2**63 - 1, (), generator=generator))
        return self._ranked_trees(decoding.sample(*self._host_arguments(), k=k, random=seed), k)

    def topk(self, k: int) -> Trees:
        """Return the k best trees of every sentence, [k, B], best first.

        Scores are -inf where a sentence has fewer.
        """
        check_count("k", k, ScoreError)
        span, arc, lengths, headed = self._host_arguments()
        visible = None
        if arc is None:
            assert span is not None
            # Only one way to choose heads is allowed: the first word of each span.
            arc = np.full_like(span, -np.inf)
            m, h = np.tril_indices(span.shape[1], -1)
            arc[:, m, h] = 0
            arc[:, 2:, 0] = -np.inf
        elif span is None:
            # Trees that differ in their spans alone count once.
            span = np.zeros_like(arc)
            visible = np.zeros(arc.shape, bool)
        trees = decoding.kbest(span, arc, lengths, k, headed, visible=visible)
        return self._ranked_trees(trees, k)

    def mbr(self) -> Trees:
        """Return the trees with the greatest expected number of right spans and arcs.

        They have minimum Bayes risk.
        """
        double = self._is_double()
        return self._trees(decoding.minimum_bayes_risk(*self._host_arguments(), double=double))

    def condition(self: Self, require: Constraints = (), forbid: Constraints = ()) -> Self:
        """Return the distribution under the condition that trees have some parts and lack others.

        Constraints are `Span(i, j)`, `Arc(head, modifier)`, `Root(word)` and `Head(i, j, head)`:
        one list for all sentences, or a list of lists, one per sentence.
        """
        required = self._per_sentence(require)
        forbidden = self._per_sentence(forbid)
        size = self.size
        span, arc = np.zeros((2, len(self), size, size), bool)
        headed = None
        for b, n in enumerate(self._host_lengths.tolist()):
            masks = constrain(n, required[b], forbidden[b])
            span[b, : n + 1, : n + 1] = masks.span < 0
            arc[b, : n + 1, : n + 1] = masks.arc < 0
            if masks.headed is not None:
                if headed is None:
                    headed = np.zeros((len(self), size, size, size), bool)
                headed[b, : n + 1, : n + 1, : n + 1] = masks.headed < 0
        scores = self._sums.scores.headed
        if headed is not None and scores is not None and scores.dim() == 3:
            headed = pack_cubes(headed)
        return self.masked(span, arc, headed)

    def masked(
        self: Self, span: Numbers = None, arc: Numbers = None, headed: Numbers = None
    ) -> Self:
        """Return the distribution over trees without the parts where a mask, shaped as the scores,
        is true.
        """
        scores = self._sums.scores
        if headed is not None and scores.headed is None:
            scores = scores._replace(headed=scores.layer.new_zeros(headed.shape))
        masks = zip(scores, (span, arc, headed), strict=True)
        return self._with_scores([_masked(part, mask) for part, mask in masks], self.lengths)

    def plus(self: Self, span: Numbers, arc: Numbers) -> Self:
        """Return the distribution with numbers, such as costs, added to the scores of spans and
        arcs.

        It has no gradients.
        """
        terms = zip(self._sums.scores, (span, arc, None), strict=True)
        return self._with_scores([_plus(part, numbers) for part, numbers in terms], self.lengths)

    def rows(self: Self, sentences: Sequence[int] | np.ndarray) -> Self:
        """Return the distributions of some of the sentences, by their index."""
        if np.array_equal(sentences, np.arange(len(self))):
            return self
        index = torch.as_tensor(sentences, device=self.lengths.device)
        parts = [None if part is None else part[index] for part in self._sums.scores]
        return self._with_scores(parts, self.lengths[index])

    def _with_scores(self: Self, scores: Sequence[Part], lengths: Tensor) -> Self:
        """Return a distribution of the same class; subclasses differ in the arguments of __init__."""
        distribution = object.__new__(type(self))
        span, arc, headed = scores
        TreeDistribution.__init__(distribution, span, arc, headed, lengths)
        return distribution

    def _difference(self, other: Any) -> str:
        """Return a text if another distribution is not over the same trees."""
        if type(self) is not type(other):
            return "they differ in their type"
        if len(self) != len(other):
            return f"{len(self)} and {len(other)} sentences"
        if self.size != other.size:
            return f"scores for up to {self.size - 1} and {other.size - 1} words"
        different = np.flatnonzero(self._host_lengths != other._host_lengths).tolist()
        if not different:
            return ""
        b = different[0]
        return f"sentence {b} has {self._host_lengths[b]} and {other._host_lengths[b]} words"

    def _is_double(self) -> bool:
        """Return whether any of the scores is in float64, which the search then is as well."""
        return any(part is not None and part.dtype == torch.float64 for part in self._sums.scores)

    def _host_arguments(self) -> tuple[Any, Any, np.ndarray, Any]:
        """Return span, arc, lengths and headed as numpy arrays, for the functions of `decoding`."""
        span, arc, headed = self._sums.arrays()
        return span, arc, self._host_lengths, headed

    def _per_sentence(self, constraints: Constraints) -> list[list[TreeConstraint]]:
        """Return a list of constraints for each sentence."""
        items: list[Any] = list(constraints)
        if items and isinstance(items[0], list | tuple):
            lists = [list(sentence) for sentence in items]
        else:
            lists = [items] * len(self)
        if len(lists) != len(self):
            raise ScoreError(f"{len(lists)} lists of constraints for {len(self)} sentences")
        constraint_type, name = self._only_constraint
        for sentence in lists:
            for constraint in sentence:
                if not isinstance(constraint, constraint_type):
                    raise ScoreError(
                        f"{type(self).__name__} can be given {name} constraints only, "
                        f"not {constraint!r}"
                    )
        return lists

    def _layers(self, trees: Any) -> tuple[Part, Part]:
        """Return the heads [..., B, n+1] and the spans [..., B, 2n-1, columns] of trees.

        None for a layer without scores.
        """
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
            most = max(2 * size - 3, 0)
            if spans.shape[-3:-1] != (count, most) or spans.shape[-1] < columns:
                raise ScoreError(
                    f"spans must have the shape [..., {count}, {most}, {columns}], "
                    f"not {list(spans.shape)}"
                )
            spans = spans[..., :columns].to(self.lengths.device)
        return heads, spans

    def _trees(self, decoded: decoding.Decoded, *lead: int) -> Trees:
        """Return decoded trees as tensors: one per sentence, or k in turn where the axis `lead` is
        k.
        """
        count, size = len(self), self.size
        span, arc, _ = self._sums.scores
        heads = spans = None
        if arc is not None:
            heads = torch.as_tensor(decoded.heads, device=self.lengths.device)
            heads = heads.view(*lead, count, size)
        if span is not None:
            assert decoded.spans is not None
            spans = stack_spans(decoded.spans, size, 2 if arc is None else 3)
            spans = spans.to(self.lengths.device).view(*lead, count, *spans.shape[-2:])
        with torch.no_grad():
            return Trees(heads, spans, score(self._sums.packed, self.lengths, heads, spans))

    def _ranked_trees(self, sentences: list[decoding.Decoded], k: int) -> Trees:
        """Return up to k trees of each sentence as tensors [k, B, ...]."""
        count = len(self)
        heads = np.zeros((k * count, self.size), np.int64)
        spans = [np.zeros((0, 3), np.int64)] * (k * count)
        exists = np.zeros(k * count, bool)
        for b, decoded in enumerate(sentences):
            # Tree r of sentence b is row r * count + b.
            rows = slice(b, b + len(decoded.scores) * count, count)
            exists[rows] = True
            if decoded.heads is not None:
                heads[rows] = decoded.heads
            if decoded.spans is not None:
                spans[rows] = decoded.spans
        trees = self._trees(decoding.Decoded(heads, spans, np.zeros(0)), k)
        mask = torch.from_numpy(exists).view(k, count).to(trees.scores.device)
        return trees._replace(scores=trees.scores.where(mask, -torch.inf))


def _masked(part: Part, mask: Numbers) -> Part:
    """Return scores, -inf where a mask is true."""
    if part is None or mask is None:
        return part
    return part.masked_fill(torch.as_tensor(mask, device=part.device), -torch.inf)


def _plus(part: Part, numbers: Numbers) -> Part:
    """Return the sum of scores and numbers, without gradients."""
    if part is None or numbers is None:
        return None if part is None else part.detach()
    return part.detach() + torch.as_tensor(numbers).to(part)


def _check_tensor(name: str, scores: Any) -> None:
    """Refuse scores that are no tensor of floating-point numbers in memory."""
    if not isinstance(scores, Tensor) or not scores.is_floating_point():
        actual = getattr(scores, "dtype", type(scores).__name__)
        raise ScoreError(
            f"{name} scores must be a tensor of floating-point numbers, not of {actual}: "
            "convert them with .float()"
        )
    try:
        # Tensors of transforms have no memory, which the kernels read.
        scores.data_ptr()
    except RuntimeError:
        raise ScoreError(
            f"{name} scores inside of a transform of torch.func (grad, vmap, ...) cannot be read: use "
            "torch.autograd.grad, and one batch instead of vmap"
        ) from None


class ConstituencyTrees(TreeDistribution):
    """A distribution over binary constituency trees.

    A tree's score is the sum of span[b, i, j] over its 2n-1 spans.

    >>> trees = ConstituencyTrees(torch.zeros(1, 4, 4))
    >>> trees.log_partition.exp().round().tolist(), trees.marginals[0, 0, 2].item()
    ([2.0], 0.5)
    """

    _only_constraint = (SpanConstraint, "Span")

    def __init__(self, span: Tensor, lengths: Lengths = None) -> None:
        super().__init__(span, None, None, lengths)

    @property
    def marginals(self) -> Tensor:
        """Return the probability [B, n+1, n+1] of each span."""
        return self._sums.marginals().spans  # type: ignore[return-value]


class DependencyTrees(TreeDistribution):
    """A distribution over projective dependency trees with one root.

    A tree's score is the sum of arc[b, m, h] over its n arcs.

    >>> trees = DependencyTrees(torch.zeros(1, 3, 3))
    >>> trees.marginals[0].tolist(), trees.log_prob(torch.tensor([[0, 2, 0]])).exp().tolist()
    ([[0.0, 0.0, 0.0], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]], [0.5])
    """

    _only_constraint = (ArcConstraint, "Arc")

    def __init__(self, arc: Tensor, lengths: Lengths = None) -> None:
        super().__init__(None, arc, None, lengths)

    @property
    def marginals(self) -> Tensor:
        """Return the probability [B, n+1, n+1] of each arc, as [b, modifier, head]."""
        return self._sums.marginals().arcs  # type: ignore[return-value]


class LexicalizedTrees(TreeDistribution):
    """A distribution over lexicalized trees: a constituency and a dependency tree that are
    compatible.

    A tree's score is the sum over its spans and its arcs; with `headed`, also over its headed
    spans, and over the hooked span of each word but the root: the largest span that the word heads,
    with the head of the word itself.

    >>> trees = LexicalizedTrees(torch.zeros(1, 4, 4), torch.zeros(1, 4, 4))
    >>> trees.log_partition.exp().round().tolist(), trees.sample(5).heads.shape
    ([8.0], torch.Size([5, 1, 4]))
    """

    def __init__(
        self, span: Tensor, arc: Tensor, headed: Part = None, lengths: Lengths = None
    ) -> None:
        super().__init__(span, arc, headed, lengths)

    @property
    def marginals(self) -> MarginalTensors:
        """Return the probabilities of spans, of arcs and of headed and hooked spans if these have
        scores.
        """
        marginals = self._sums.marginals()
        scores = self._sums.scores.headed
        if marginals.headed is None or scores is None or scores.dim() == 3:
            return marginals
        cube = marginals.headed.new_zeros(scores.shape)
        i, j = np.triu_indices(self.size, 1)
        cube[:, i, j] = marginals.headed
        return marginals._replace(headed=cube)
