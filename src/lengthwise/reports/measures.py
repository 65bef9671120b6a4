"""What each metric is called on an axis and in a sentence."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Measure:
    """A metric's name in a sentence, and its unit (empty for a share or a pure number)."""

    name: str
    unit: str = ""

    @property
    def axis(self) -> str:
        """The label of an axis.

        >>> measure("kl").axis
        'KL divergence (nats)'
        """
        name = self.name[0].upper() + self.name[1:]
        return f"{name} ({self.unit})" if self.unit else name


MEASURES: dict[str, Measure] = {
    "tv": Measure("total variation"),
    "kl": Measure("KL divergence", "nats"),
    "illegal_mass": Measure("illegal mass"),
    "top1_illegal": Measure("top-1 illegal rate"),
    "displacement": Measure("logit displacement", "nats"),
    "attention_entropy": Measure("attention entropy", "nats"),
    "inverse_temperature": Measure("inverse temperature"),
    "p_mean": Measure("mean p", "nats"),
    "p_min": Measure("least p", "nats"),
    "m_minus_p_mean": Measure("mean M \N{MINUS SIGN} p", "nats"),
    "m_minus_p_min": Measure("least M \N{MINUS SIGN} p", "nats"),
}


def measure(metric: str) -> Measure:
    """The name and unit of a metric; one that is not known here goes by its own name.

    >>> measure("accuracy").name
    'accuracy'
    """
    return MEASURES.get(metric, Measure(metric.replace("_", " ")))
