"""The training loop's own rules: batches of an epoch, learning rates, averages, when to stop."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from accelerate import Accelerator

from arcspan.errors import ArcspanError
from arcspan.training import read_config
from arcspan.training.average import Average
from arcspan.training.run import read_data
from arcspan.training.trainer import Trainer
from tests.toy import toy_pairs
from tests.training.test_pretrained import small_bert
from tests.training.test_training import configure


def trained(folder: Path, said: list[str] | None = None, **changes: Any) -> Trainer:
    """A trainer that has run to its end; what it says goes to `said`."""
    config = read_config(configure(folder, toy_pairs(12), **changes))
    say = (lambda line: None) if said is None else said.append
    Path(config.output).mkdir()
    trainer = Trainer(
        "both", read_data(config, say), Path(config.output), Accelerator(), say, False
    )
    trainer.run(resume=False)
    return trainer


@pytest.fixture(scope="module")
def trainer(tmp_path_factory: pytest.TempPathFactory) -> Trainer:
    changes = {"training__epochs": 1, "training__average": 0.5, "training__clip": 1e9}
    return trained(tmp_path_factory.mktemp("trainer"), **changes)


def test_an_epoch_has_every_sentence_once_in_an_order_of_its_own(trainer: Trainer) -> None:
    epochs = [trainer._updates(epoch) for epoch in (0, 0, 1)]
    for updates in epochs:
        found = [place for batches in updates for batch in batches for place in batch]
        assert sorted(found) == list(range(len(trainer.examples)))
    assert epochs[0] == epochs[1] != epochs[2]


def test_every_process_gets_as_many_batches_of_an_update(
    trainer: Trainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = set(chain.from_iterable(chain.from_iterable(trainer._updates(0))))
    monkeypatch.setattr(trainer, "accelerator", SimpleNamespace(num_processes=3))
    updates = trainer._updates(0)
    assert {len(batches) for batches in updates} == {3}
    assert set(chain.from_iterable(chain.from_iterable(updates))) == whole


@pytest.mark.parametrize("words", [0, 40])
def test_processes_divide_a_batch_of_pieces_or_words(
    trainer: Trainer, monkeypatch: pytest.MonkeyPatch, words: int
) -> None:
    """Two processes made half as many updates as one, of twice the size."""
    monkeypatch.setattr(trainer, "settings", replace(trainer.settings, batch_words=words))
    if words:
        monkeypatch.setattr(trainer, "costs", [len(one.sentence.words) for one in trainer.examples])
    for processes in (1, 2):
        monkeypatch.setattr(trainer, "accelerator", SimpleNamespace(num_processes=processes))
        updates = trainer._updates(0)
        budget = (words or trainer.settings.batch_pieces) // processes
        for batch in chain.from_iterable(updates):
            costs = [trainer.costs[place] for place in batch]
            assert len(batch) == 1 or (sum(costs) if words else max(costs) * len(costs)) <= budget
        assert {len(batches) for batches in updates} == {processes}


def test_the_mix_of_layers_learns_at_the_encoders_rate(tmp_path: Path) -> None:
    """As in the authors' code; it had the rate of the scorers, fifty times as high."""
    changes = {
        "encoder__path": str(small_bert(tmp_path / "bert")),
        "encoder__layers": 2,
        "encoder__shapes": True,
    }
    config = read_config(configure(tmp_path, toy_pairs(2), encoder__kind="pretrained", **changes))
    config = replace(config, training=replace(config.training, style_rate=0.01))
    config = replace(
        config, data=replace(config.data, train=[replace(config.data.train[0], style="a")])
    )
    data = read_data(config, lambda line: None)
    made = Trainer("both", data, tmp_path, Accelerator(), lambda line: None, False)
    names = {id(value): name for name, value in made.model.named_parameters()}
    slow, quick, styles = (
        {names[id(one)] for one in own["params"]} for own in made.optimizer.param_groups
    )
    assert {name.split(".")[1] for name in slow} == {"pretrained", "mix"}
    assert styles == {"styles.constituency.weight", "styles.dependency.weight"}
    assert not any(
        name.startswith(("encoder.pretrained", "encoder.mix", "styles")) for name in quick
    )
    assert made._rate() == config.training.rate


def test_rates_rise_over_the_warm_up_and_then_fall_to_nothing(
    trainer: Trainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trainer, "total", 100)
    found = []
    for step in (0, 5, 10, 55, 100):
        monkeypatch.setattr(trainer, "step", step)
        found.append(trainer._rates()[-1] / trainer.settings.rate)
    assert found == pytest.approx([0, 0.5, 1, 0.5, 0])


def test_batches_of_one_update_add_up_to_the_gradient_of_one_larger_batch(trainer: Trainer) -> None:
    """The rate is 0 after the last update, so that the weights stay as they are."""

    def gradient(batches: list[list[int]]) -> dict[str, torch.Tensor]:
        trainer._update(batches)
        return {
            name: p.grad.clone()
            for name, p in trainer.model.named_parameters()
            if p.grad is not None
        }

    together, apart = gradient([[0, 1, 2]]), gradient([[2], [0, 1]])
    assert together and together.keys() == apart.keys()
    for name, expected in together.items():
        torch.testing.assert_close(apart[name], expected, rtol=1e-3, atol=1e-6, msg=name)


def test_the_average_moves_towards_the_weights_and_quicker_at_first(trainer: Trainer) -> None:
    for step, moved in ((0, 0.9), (1000, 0.5)):  # 1 - min(decay, (1 + step) / (10 + step))
        average = Average(trainer.model, 0.5)
        average.weights = {name: torch.zeros_like(value) for name, value in average.weights.items()}
        average.update(step)
        for name, value in trainer.model.state_dict().items():
            if value.is_floating_point():
                torch.testing.assert_close(average.weights[name], value * moved)


def test_other_weights_are_lent_and_the_own_ones_come_back_even_after_an_error(
    trainer: Trainer,
) -> None:
    own = {name: value.clone() for name, value in trainer.model.state_dict().items()}
    average = Average(trainer.model, 0.5)
    average.weights = {name: torch.zeros_like(value) for name, value in own.items()}
    with pytest.raises(KeyError), average.applied():
        assert not any(value.any() for value in trainer.model.state_dict().values())
        raise KeyError
    assert all(torch.equal(value, own[name]) for name, value in trainer.model.state_dict().items())


def test_a_gradient_that_is_not_a_number_stops_the_run_before_the_weights_change(
    trainer: Trainer,
) -> None:
    first = next(trainer.model.scorers["tag"].parameters())
    others = {name: p.clone() for name, p in trainer.model.named_parameters() if p is not first}
    kept = first.data.clone()
    try:
        first.data.fill_(float("nan"))
        with pytest.raises(
            ArcspanError, match=rf"the gradient is nan at update {trainer.step + 1}: lower"
        ):
            trainer._update([[0]])
    finally:
        first.data.copy_(kept)
    now = dict(trainer.model.named_parameters())
    assert all(torch.equal(now[name], value) for name, value in others.items())


def test_a_run_stops_when_the_dev_score_has_not_risen_for_some_epochs(tmp_path: Path) -> None:
    said: list[str] = []
    changes = {"training__epochs": 20, "training__patience": 2, "training__rate": 1e-12}
    trainer = trained(tmp_path, said, **changes)
    assert trainer.epoch == trainer.best_epoch + 2 < 20
    assert said[-1] == "no better dev score for 2 epochs: stopping"
