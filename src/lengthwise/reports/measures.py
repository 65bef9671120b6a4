"""What each metric is called on an axis and in a sentence, and which way it is better."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf


@dataclass(frozen=True)
class Measure:
    """A metric's name in a sentence, its unit (empty for a share or a pure number), and whether more of it is better.

    `enough` is the value from which on a length counts as served; `least` and `most` bound what it can be.
    """

    name: str
    unit: str = ""
    higher: bool = False
    enough: float | None = None
    least: float = -inf
    most: float = inf

    @property
    def axis(self) -> str:
        """The label of an axis.

        >>> measure("kl").axis
        'KL divergence (nats)'
        """
        name = self.name[0].upper() + self.name[1:]
        return f"{name} ({self.unit})" if self.unit else name

    @property
    def lead(self) -> str:
        """What a sentence about it by length begins with: what is lower when better is an error.

        >>> measure("tv").lead, measure("accuracy").lead
        ('Error by length', 'Accuracy by length')
        """
        return f"{self.name.capitalize() if self.higher else 'Error'} by length"

    @property
    def better(self) -> str:
        """The better side of 0 of a difference, in words.

        >>> measure("tv").better, measure("accuracy").better
        ('left of 0 is lower: better', 'right of 0 is higher: better')
        """
        return "right of 0 is higher: better" if self.higher else "left of 0 is lower: better"


MEASURES: dict[str, Measure] = {
    "tv": Measure("total variation", least=0, most=1),
    "kl": Measure("KL divergence", "nats", least=0),
    "illegal_mass": Measure("illegal mass", least=0, most=1),
    "top1_illegal": Measure("top-1 illegal rate", least=0, most=1),
    "accuracy": Measure("accuracy", higher=True, enough=0.99, least=0, most=1),
    "squared_error": Measure("squared error", least=0),
    "excess_error": Measure("excess error", least=0),
    "displacement": Measure("logit displacement", "nats", higher=True),
    "attention_entropy": Measure("attention entropy", "nats", least=0),
    "inverse_temperature": Measure("inverse temperature"),
    "score_gap": Measure("score gap", "nats", higher=True),
    "p_mean": Measure("mean p", "nats"),
    "p_min": Measure("least p", "nats"),
    "m_minus_p_mean": Measure("mean M \N{MINUS SIGN} p", "nats"),
    "m_minus_p_min": Measure("least M \N{MINUS SIGN} p", "nats"),
}


def measure(metric: str) -> Measure:
    """What is known of a metric; one that is not known here goes by its own name.

    After scale matching a metric has the bounds that it has as is.

    >>> measure("norm_output").name
    'norm output'
    >>> measure("tv_matched").most
    1
    """
    name = metric.removesuffix("_matched")
    if name != metric and name in MEASURES:
        return replace(MEASURES[name], name=f"scale-matched {MEASURES[name].name}")
    return MEASURES.get(metric, Measure(metric.replace("_", " ")))
