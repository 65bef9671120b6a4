"""Globs own every trainable parameter exactly once, or the error names the one that they do not."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from lengthwise.errors import InputError
from lengthwise.models import MinimalTransformer
from lengthwise.training.groups import check_rates, groups_of
from lengthwise.training.layout import Layout


class Tied(nn.Module):
    """An embedding whose weights are the head's."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(4, 3)
        self.middle = nn.Linear(3, 3)
        self.head = nn.Linear(3, 4, bias=False)
        self.head.weight = self.embedding.weight


TWO = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 2))


@pytest.mark.parametrize(
    ("module", "globs", "says"),
    [
        (TWO, {"a": ["0.*"], "b": ["2.*"]}, "group 'b': glob '2.*' matches no parameter"),
        (TWO, {"a": ["*"], "b": []}, "group 'b' has no globs"),
        (TWO, {"a": ["0.*"], "b": ["0.bias", "1.*"]}, "parameter '0.bias' is in two groups: 'a' and 'b'"),
        (TWO, {"a": ["0.*"], "b": ["1.weight"]}, "parameter '1.bias' is in no group"),
        (Tied(), {"a": ["embedding.*", "middle.*"], "b": ["head.*"]}, "'embedding.weight' and 'head.weight'"),
        (Tied(), {"a": ["middle.*"]}, "parameter 'embedding.weight' is in no group"),
    ],
    ids=["unknown glob", "empty glob", "two groups", "no group", "tied split", "tied, no group"],
)
def test_what_is_wrong_is_named(module: nn.Module, globs: dict[str, list[str]], says: str) -> None:
    with pytest.raises(InputError) as caught:
        groups_of(module, globs)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("globs", [{"all": ["*"]}, {"in and out": ["embedding.*", "head.*"], "rest": ["middle.*"]}])
def test_tied_parameters_are_owned_once(globs: dict[str, list[str]]) -> None:
    owned = [name for names in groups_of(Tied(), globs).values() for name in names]
    assert sorted(owned) == ["embedding.weight", "middle.bias", "middle.weight"]


def test_a_tied_parameter_may_be_matched_by_its_second_name_alone() -> None:
    groups = groups_of(Tied(), {"out": ["head.*"], "rest": ["middle.*"]})
    assert groups == {"out": ["embedding.weight"], "rest": ["middle.weight", "middle.bias"]}


def test_parameters_of_equal_values_are_not_tied() -> None:
    module = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    module[1].load_state_dict(module[0].state_dict())
    assert groups_of(module, {"a": ["0.*"], "b": ["1.*"]}) == {"a": ["0.weight", "0.bias"], "b": ["1.weight", "1.bias"]}


def test_parameters_that_never_train_belong_to_no_group() -> None:
    module = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 2))
    module[0].requires_grad_(False)
    assert groups_of(module) == {"all": ["1.weight", "1.bias"]}
    with pytest.raises(InputError, match="matches no parameter"):
        groups_of(module, {"a": ["0.*"], "b": ["1.*"]})


def test_a_module_s_own_groups_are_the_default_and_yield_to_others() -> None:
    model = MinimalTransformer(5, width=3)
    assert groups_of(model)["attention"] == ["query", "key"]
    assert list(groups_of(model, {"everything": ["*"]})) == ["everything"]


@pytest.mark.parametrize("name", ["attentoin", "All", ""])
def test_a_phase_that_names_an_unknown_group_is_told_which(name: str) -> None:
    with pytest.raises(InputError, match=f"phase 2: unknown group '{name}'"):
        check_rates({"attention": ["query"]}, ["all", name], "phase 2")


def test_a_row_holds_every_parameter_and_views_give_them_back() -> None:
    module = MinimalTransformer(5, width=3, norm="post")
    layout = Layout.of(module)
    matrix = torch.stack([layout.row(module), 2 * layout.row(module)])
    views = layout.views(matrix)
    assert layout.width == sum(p.numel() for p in module.parameters())
    for name, parameter in module.named_parameters():
        assert torch.equal(views[name][0], parameter)
        assert torch.equal(views[name][1], 2 * parameter)
        assert views[name].data_ptr() == matrix[:, layout.places[name]].data_ptr()
    owned = sorted((c.start, c.stop) for c in layout.columns.values())
    assert owned == [(0, owned[0][1]), (owned[0][1], layout.width)]
    for group, names in layout.groups.items():
        assert torch.equal(layout.gather([views[n] for n in names], names), matrix[:, layout.columns[group]])


def test_parameters_of_several_types_are_refused_by_name() -> None:
    module = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2).double())
    with pytest.raises(InputError, match=r"'0\.bias' in torch\.float32, '1\.bias' in torch\.float64"):
        Layout.of(module)


def test_a_module_with_nothing_to_train_is_refused() -> None:
    with pytest.raises(InputError):
        Layout.of(nn.Linear(2, 2).requires_grad_(False))
