"""What all tests share: one thread, and examples that hypothesis draws the same way on every run."""

from __future__ import annotations

import pytest
import torch
from hypothesis import HealthCheck, settings

torch.set_num_threads(1)
settings.register_profile(
    "deterministic",
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=30,
    # A loaded machine draws slowly, and tests here only read their function-scoped fixtures.
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("deterministic")


@pytest.fixture(autouse=True)
def seed_torch() -> None:
    """Tests that draw from PyTorch's global generator draw the same in any order."""
    torch.manual_seed(0)
