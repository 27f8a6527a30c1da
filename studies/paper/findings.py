"""The paper's claims, held against our numbers by a rule fixed beforehand.

A claim is about the difference between two rows in one figure, tested over seeds and sentences
(`seeds`). That two rows do not differ is confirmed only where the whole 95% interval of the
difference lies within half a point. A verdict needs several seeds of both rows: on one seed a claim
holds or not, but it is neither confirmed nor refuted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from arcspan.evaluation import METRICS
from studies.paper.plan import SYSTEM_TITLES
from studies.paper.results import Results, read_json
from studies.paper.tables import PAPER, difference, markdown

LEVEL = 0.05
ON_ONE_SEED = {"confirmed": "holds on one seed", "refuted": "does not hold on one seed"}
SAME = 0.5


@dataclass(frozen=True)
class Claim:
    """Row `a` beats row `b` in a figure by at least `least`; or, with `none`, they do not differ."""

    text: str
    a: str
    b: str
    metric: str
    table: str
    least: float = 0.0
    none: bool = False

    def verdict(self, comparison: dict[str, Any], seeds: int = 1) -> str:
        """What our difference says, over so many seeds of the row that has fewer.

        >>> claim = Claim("", "joint2o", "sep", "lcm_both", "table8", least=2)
        >>> tests = {"interval": [0.9, 3.9], "p": 0.002}
        >>> claim.verdict({"difference": 2.5, **tests}, 3), claim.verdict({"difference": 1.5, **tests}, 3)
        ('confirmed', 'same direction, below 2 points')
        >>> claim.verdict({"difference": 2.5, **tests})
        'holds on one seed'
        """
        verdict = self._verdict(comparison)
        return verdict if seeds > 1 else ON_ONE_SEED.get(verdict, f"{verdict} (one seed)")

    def _verdict(self, comparison: dict[str, Any]) -> str:
        gain, p = comparison["difference"], comparison["p"]
        if self.none:
            low, high = comparison["interval"]
            if low >= -SAME and high <= SAME:
                return "confirmed"
            return "refuted" if p < LEVEL else "undecided"
        if gain <= 0:
            return "refuted" if p < LEVEL else "not confirmed"
        if p >= LEVEL:
            return "same direction, not significant"
        return "confirmed" if gain >= self.least else f"same direction, below {self.least:g} points"

    def in_paper(self, column: str) -> float | None:
        """The paper's own difference for its treebank of that language."""
        rows = PAPER[self.table].get(column, {})
        if self.a in rows and self.b in rows:
            return float(rows[self.a][self.metric] - rows[self.b][self.metric])
        return None


CLAIMS = (
    Claim("Searching jointly helps dependencies", "mtl", "sep", "las", "table2"),
    Claim("Searching jointly hardly changes constituents", "mtl", "sep", "f1", "table2", none=True),
    Claim(
        "First order: training jointly adds nothing for dependencies",
        "joint1o",
        "mtl",
        "las",
        "table2",
        none=True,
    ),
    Claim(
        "First order: training jointly adds nothing for constituents",
        "joint1o",
        "mtl",
        "f1",
        "table2",
        none=True,
    ),
    Claim("The second order helps dependencies a little", "joint2o", "joint1o", "las", "table2"),
    Claim("The second order helps constituents a little", "joint2o", "joint1o", "f1", "table2"),
    Claim(
        "Joint search: both trees right in 2 points more sentences",
        "mtl",
        "sep",
        "lcm_both",
        "table8",
        least=2,
    ),
    Claim(
        "Joint1o: both trees right in 2 points more sentences",
        "joint1o",
        "sep",
        "lcm_both",
        "table8",
        least=2,
    ),
    Claim(
        "Joint2o: both trees right in 2 points more sentences",
        "joint2o",
        "sep",
        "lcm_both",
        "table8",
        least=2,
    ),
    Claim("Joint2o finds better heads than the pipeline", "joint2o", "pipeline", "uas", "table6"),
    Claim(
        "Joint2o finds better dependencies than the pipeline",
        "joint2o",
        "pipeline",
        "las",
        "table6",
    ),
    Claim(
        "Joint2o finds better heads than the paper's pipeline",
        "joint2o",
        "converter",
        "uas",
        "table6",
    ),
    Claim(
        "Joint2o finds better dependencies than the paper's pipeline",
        "joint2o",
        "converter",
        "las",
        "table6",
    ),
    Claim("Gold tags help dependencies", "joint2o-gold-tags", "joint2o", "las", "table4"),
    Claim("Gold tags help constituents", "joint2o-gold-tags", "joint2o", "f1", "table4"),
)


def judge(results: Results) -> list[dict[str, Any]]:
    """Every claim on every treebank that has the rows for it."""
    out = []
    for claim in CLAIMS:
        for name, treebank in results.plan.treebanks.items():
            data = results.significance(name, claim.a, claim.b)
            if data is not None:
                comparison = data["figures"][claim.metric]
                out.append(
                    {
                        "claim": claim.text,
                        "treebank": treebank.title,
                        "metric": METRICS[claim.metric].title,
                        "rows": f"{_title(claim.a)} − {_title(claim.b)}",
                        "shown": difference(comparison),
                        "paper": claim.in_paper(treebank.paper),
                        "seeds": " / ".join(str(len(row_seeds)) for row_seeds in data["seeds"]),
                        "verdict": claim.verdict(comparison, min(map(len, data["seeds"]))),
                    }
                )
    return out


def _title(name: str) -> str:
    return SYSTEM_TITLES.get(name, name)


def table(judged: list[dict[str, Any]]) -> str:
    """The judgements as Markdown."""
    rows = [
        [
            judgement["claim"],
            judgement["treebank"],
            judgement["metric"],
            "–" if judgement["paper"] is None else f"{judgement['paper']:+.2f}".replace("-", "−"),
            judgement["shown"],
            judgement["seeds"],
            judgement["verdict"],
        ]
        for judgement in judged
    ]
    return markdown(
        ["claim", "treebank", "figure", "in the paper", "here", "seeds", "verdict"],
        rows,
        left_columns=3,
    )


def tally(judged: list[dict[str, Any]]) -> dict[str, int]:
    """How many verdicts begin with each word or two."""
    heads = ("confirmed", "holds on one seed", "same direction", "undecided", "not confirmed")
    heads += ("does not hold on one seed", "refuted")
    return {
        head: sum(judgement["verdict"].startswith(head) for judgement in judged) for head in heads
    }


def speed_ratios(results: Results) -> dict[str, float]:
    """How many times faster than the O(n^5) search Eisner-Satta is: alone, from words to trees, in
    the paper.
    """
    out = {"paper": PAPER["table7"]["eisner_satta"] / PAPER["table7"]["naive"]}
    for measurement in ("decoding", "parsing"):
        rates = (read_json(results.folder / f"speed-{measurement}.json") or {}).get(
            "sentences_per_second"
        )
        if rates:
            out[measurement] = rates["eisner_satta"] / rates["naive"]
    return out
