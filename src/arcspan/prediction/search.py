"""The best parses of the sentences of a batch, and the k best of one.

The search is for the best labelled trees, exactly. The log-probability of a label is at most zero,
so that scores without labels are upper bounds: what a search chose is labelled and its scores are
lowered, until a search chooses a structure all of which is labelled.

A pair of trees as users see it is a set of arcs and a set of constituents. A span is a constituent
if its best label is one; the label depends on the span, and where a head is forbidden or preferred
on the span's head, which the arcs tell. An arc's relation depends on the arc alone. So
the k best pairs are the k best lexicalized trees, those that differ only in spans without a label
counted once.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from arcspan import decoding
from arcspan.decoding import Decoded
from arcspan.decoding.batch import best as best_on_host
from arcspan.decoding.batch import pack_headed
from arcspan.errors import ArcspanError
from arcspan.prediction.charts import NOWHERE, Chart, Charts
from arcspan.prediction.model import ParserModel
from arcspan.prediction.outputs import Indices, Scores, on_host
from arcspan.prediction.results import Prediction, merge

# Searches of a sentence. Text never needed a dozen, 200 repetitions of one word need over 100.
ROUNDS = 30
# Searches after which all of a sentence is labelled, which takes as long as one of them.
PATIENCE = 12
# Words that such a sentence may have: its labels take a few kilobytes for each pair of words.
LABELLED = 400
# Edits of a lemma that a lexicon chooses from.
_EDITS = 4


def best(charts: Charts) -> list[Prediction]:
    """Return the best parse of each sentence."""
    sentences = np.arange(len(charts.lengths))
    by_part: list[list[Prediction]] = []
    rounds = np.ones(len(sentences), np.int64)
    for part in charts.parts:
        decoded, part_rounds = search(charts.model, part)
        by_part.append(_label(charts.model, part, decoded, sentences))
        rounds = np.maximum(rounds, part_rounds)
    predictions = by_part[0]
    if len(by_part) > 1:
        predictions = [merge(of_sentence) for of_sentence in zip(*by_part, strict=True)]
    for b in np.flatnonzero(rounds > ROUNDS):
        # The last search may not have been the one that proves its tree the best.
        predictions[b] = replace(predictions[b], approximate=True)
    return predictions


def kbest(charts: Charts, b: int, k: int) -> list[Prediction]:
    """Return the k best parses of a sentence that differ in what users see; fewer if there are
    fewer.
    """
    check_joint(charts.model)
    (part,) = charts.parts
    if charts.model.labelled:
        part.look_up_all(b)
        scores = part.with_values()
    else:
        scores = part.with_preferences()
    n = int(charts.lengths[b])
    _, span, arc, headed, _ = scores_of_sentence(scores, b, n)
    visible = part.visible(b)[None]
    (decoded,) = decoding.kbest(span, arc, [n], k, headed, visible=visible, threads=1)
    return _label(charts.model, part, decoded, np.full(len(decoded.scores), b))


def check_joint(model: ParserModel) -> None:
    """Raise ArcspanError if the model cannot rank pairs of trees."""
    if not model.joint:
        raise ArcspanError(
            "the k best pairs need a model that finds both trees at once: "
            "this one finds each by itself"
        )


def search(model: ParserModel, part: Chart) -> tuple[Decoded, np.ndarray]:
    """Return the best structures of a batch, and how many searches each sentence took."""
    find = model.decoder or partial(best_structures, apart=model.apart)
    rounds = np.ones(len(part.lengths), np.int64)
    if not model.labelled:
        return find(part.with_preferences(), part.lengths), rounds
    if part.bonuses:
        # Preferred names may be worth more than nothing: without them there is no upper bound.
        part.look_up_constrained()
    scores = part.with_values()
    decoded = latest = find(scores, part.lengths)
    active = np.arange(len(part.lengths))
    for number in range(ROUNDS):
        nodes, arcs = part.look_up(*_chosen_parts(latest, active, part.lengths))
        # Sentences whose best structure was labelled before have their best tree.
        active = np.flatnonzero(np.bincount(np.concatenate([nodes[0], arcs[0]])))
        looked_up = [(nodes, arcs)]
        if number == PATIENCE:
            # Where one word stands hundreds of times, every structure is as good as the next.
            short = active[part.lengths[active] <= LABELLED]
            looked_up += [part.look_up_all(int(b)) for b in short]
        for nodes, arcs in looked_up:
            if scores.span is not None and len(nodes[0]):
                scores.span[tuple(nodes)] += part.values["label"][tuple(nodes)]
            if scores.arc is not None and len(arcs[0]):
                scores.arc[tuple(arcs)] += part.values["relation"][tuple(arcs)]
        if not len(active):
            break
        rounds[active] += 1
        if len(active) == len(part.lengths):
            decoded = latest = find(scores, part.lengths)
        else:
            span, arc, headed = (
                None if array is None else array[active]
                for array in (scores.span, scores.arc, scores.headed)
            )
            latest = find(Scores(None, span, arc, headed), part.lengths[active])
            _replace_structures(decoded, active, latest)
    return decoded, rounds


def _replace_structures(decoded: Decoded, sentences: np.ndarray, latest: Decoded) -> None:
    """Replace the structures of some sentences, in place."""
    decoded.scores[sentences] = latest.scores
    if decoded.heads is not None and latest.heads is not None:
        decoded.heads[sentences] = latest.heads
    if decoded.spans is not None and latest.spans is not None:
        for b, spans in zip(sentences.tolist(), latest.spans, strict=True):
            decoded.spans[b] = spans


def best_structures(scores: Scores, lengths: np.ndarray, *, apart: bool = False) -> Decoded:
    """Return the best unlabelled structures of a batch.

    Eisner-Satta where there are spans and arcs, otherwise CKY or Eisner; with `apart`, these two,
    though there are both. Tensors on an accelerator are searched there where that is faster, else
    on the host.
    """
    span, arc, headed = scores.span, scores.arc, scores.headed
    joint = span is not None and arc is not None
    if joint and apart:
        c = best_structures(Scores(None, span), lengths)
        d = best_structures(Scores(None, arc=arc), lengths)
        return Decoded(heads=d.heads, spans=c.spans, scores=c.scores + d.scores)
    on_accelerator = joint and not isinstance(span, np.ndarray) and span.device.type != "cpu"
    if on_accelerator and decoding.batched.pays(lengths.tolist(), span.device):
        return decoding.batched.eisner_satta(span, arc, lengths, headed)
    span, arc, headed = (None if array is None else on_host(array) for array in (span, arc, headed))
    return best_on_host(span, arc, lengths, headed if joint else None, threads=1)


def scores_of_sentence(scores: Scores, b: int, n: int) -> Scores:
    """Return the scores of sentence b alone, which has n words, as a batch of one."""
    window = (slice(b, b + 1), slice(n + 1), slice(n + 1))
    span, arc = (
        None if array is None else on_host(array)[window] for array in (scores.span, scores.arc)
    )
    headed = None
    if scores.headed is not None:
        headed = pack_headed(on_host(scores.headed)[b], n, np.float32)[None]
    return scores._replace(span=span, arc=arc, headed=headed)


# ---- labels of structures


def _chosen_parts(
    decoded: Decoded, sentences: np.ndarray, lengths: np.ndarray
) -> tuple[Indices, Indices]:
    """Return the spans (b, i, j) and arcs (b, m, h) of structures.

    sentences  the sentence of each structure: b in the results
    Where there are no arcs, h is 0 for every word.
    """
    n = lengths[sentences]
    structure = np.repeat(np.arange(len(n)), n)
    # Words count from 1 in each sentence.
    m = np.arange(len(structure)) - np.repeat(np.cumsum(n) - n, n) + 1
    h = np.zeros_like(m) if decoded.heads is None else decoded.heads[structure, m]
    arcs = (sentences[structure], m, h)
    if decoded.spans is None:
        return NOWHERE, arcs
    spans = np.concatenate(decoded.spans)
    return (np.repeat(sentences, 2 * n - 1), spans[:, 0], spans[:, 1]), arcs


def _best_columns(scores: np.ndarray, k: int) -> np.ndarray:
    """Return the k best columns of each row [K, names], best first: int64 [K, k]; changes scores."""
    k = min(k, scores.shape[1])
    rows = np.arange(len(scores))
    columns = np.empty((len(scores), k), np.int64)
    # Taking the best k times is faster than sorting while k is small.
    for rank in range(k):
        best = scores.argmax(1)
        columns[:, rank] = best
        scores[rows, best] = -np.inf
    return columns


def _label(
    model: ParserModel, part: Chart, decoded: Decoded, sentences: np.ndarray
) -> list[Prediction]:
    """Return structures with the best names of their parts; `sentences`: the sentence of each."""
    lengths = part.lengths[sentences]
    nodes, arcs = _chosen_parts(decoded, sentences, part.lengths)
    part.look_up(nodes, arcs if decoded.heads is not None else NOWHERE)
    b, m, h = arcs
    word_scores = {output: part.word_scores(output, b, m) for output in part.scores.words}
    words = {output: scores.argmax(1) for output, scores in word_scores.items()}
    if "lemma" in words and model.inventories.lexicon is not None:
        words["lemma"] = _best_columns(word_scores["lemma"], _EDITS)
    trees = relations = None
    if decoded.spans is not None:
        spans = np.concatenate(decoded.spans)
        trees = np.zeros((len(spans), 4), np.int64)
        # CKY knows no heads: its spans have two columns.
        trees[:, : spans.shape[1]] = spans
        trees[:, 3] = part.best_labels(nodes, trees[:, 2])
    if decoded.heads is not None:
        scores = part.cached_scores("relation", arcs)
        if model.guidelines is not None:
            if part.is_pictogram is not None:
                scores[part.is_pictogram[b, m]] += model.guidelines.pictogram_mask
            # In the unit of the relations' scores.
            tag_scores = word_scores.get("upos")
            if tag_scores is not None:
                tag_scores = tag_scores * model.calibration.relation_temperature
            relations, words = model.guidelines.choose(scores, h, lengths, words, tag_scores)
        else:
            relations = scores.argmax(1)
    predictions = []
    first_word = first_node = 0
    for n, score in zip(lengths.tolist(), decoded.scores.tolist(), strict=True):
        of_words = slice(first_word, first_word + n)
        of_nodes = slice(first_node, first_node + 2 * n - 1)
        first_word = of_words.stop
        first_node = of_nodes.stop
        predictions.append(
            Prediction(
                nodes=None if trees is None else trees[of_nodes],
                heads=None if relations is None else h[of_words],
                relations=None if relations is None else relations[of_words],
                words={output: numbers[of_words] for output, numbers in words.items()},
                score=score,
                temperature=model.calibration.structure_temperature,
                inventories=model.inventories,
            )
        )
    return predictions
