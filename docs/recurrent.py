"""An experiment of one's own: the example of docs/guide.md."""

import torch
from torch import nn

from lengthwise import EMA, AdamW, Experiment, Measuring, Phase, Plan, SetComplement, Variant


class Recurrent(nn.Module):
    """A plain recurrent network: the state is mixed with each token in turn."""

    def __init__(self, vocabulary: int, width: int = 32):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.cell = nn.Linear(2 * width, width)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, tokens):
        state, states = torch.zeros_like(self.embed(tokens[:, 0])), []
        for token in tokens.unbind(1):
            state = torch.tanh(self.cell(torch.cat([state, self.embed(token)], -1)))
            states.append(state)
        return self.head(torch.stack(states, 1))


experiment = Experiment(
    name="recurrent",
    question="Does a recurrent network solve the set complement beyond its trained lengths?",
    task=SetComplement(vocabulary=12, s_train=6),
    model=Recurrent,
    groups={"body": ("embed.*", "cell.*"), "head": ("head.*",)},
    plan=Plan(
        phases=(Phase(steps=100, rates={"head": 3e-3}), Phase(steps=200, rates={"all": 3e-3})),
        optimiser=AdamW(weight_decay=0.01),
        batch=32,
    ),
    variants={"narrow": Variant(), "wide": Variant(model={"width": 64})},
    averages=(EMA(decay=0.99),),
    replicates=5,
    measuring=Measuring(inputs=128, along=3),
)
