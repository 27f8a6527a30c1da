"""The ONNX graphs: scores in one run or several, labels one at a time or together."""

from __future__ import annotations

import numpy as np

from tests.runtime.random_bundles import Made, load, sentences


def test_second_order_scores_do_not_depend_on_the_number_of_runs(joint2o: Made) -> None:
    predictor = load(joint2o.folder)
    (session,) = predictor.scorers
    words = [sentence for sentence in sentences(40) if 10 <= len(sentence) <= 15]
    arrays = predictor.inputs.batch(predictor.inputs.prepare(words))
    once, often = session.score(arrays), session.score(arrays, room=1)
    assert once.headed is not None and often.headed is not None
    np.testing.assert_array_equal(once.headed, often.headed)
    np.testing.assert_array_equal(once.hidden["hidden"], often.hidden["hidden"])


def test_first_order_scores_come_without_second_order_ones(joint2o: Made) -> None:
    predictor = load(joint2o.folder)
    (session,) = predictor.scorers
    arrays = predictor.inputs.batch(predictor.inputs.prepare([["the", "dog"]]))
    found = session.score(arrays, headed=False)
    assert found.headed is None
    np.testing.assert_array_equal(found.span, session.score(arrays).span)


def test_a_label_alone_is_scored_as_among_others(joint2o: Made) -> None:
    predictor = load(joint2o.folder)
    (session,) = predictor.scorers
    scores = session.score(predictor.inputs.batch(predictor.inputs.prepare([["the", "dog", "sees"]])))
    b, i, j = np.zeros(3, dtype=np.int64), np.array([0, 0, 1]), np.array([1, 2, 3])
    together = session.label(scores.hidden, [b, i, j], [b, j, i])
    for row in range(3):
        one = slice(row, row + 1)
        alone = session.label(scores.hidden, [b[one], i[one], j[one]], [b[one], j[one], i[one]])
        for mine, all_of_them in zip(alone, together, strict=True):
            np.testing.assert_array_equal(mine, all_of_them[one])
