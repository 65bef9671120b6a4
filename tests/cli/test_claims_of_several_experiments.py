"""`lengthwise reproduce` where experiments share a claim, or decide it at another scale; what `language` adds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from lengthwise import SGD, Experiment, Phase, Plan
from lengthwise.cli import main
from lengthwise.cli.language import language
from lengthwise.cli.reproduce import MARKER, _chosen, reproduce, runs_below
from lengthwise.errors import InputError
from lengthwise.experiments import EXPERIMENTS, Claim, Measuring, ModelOf
from lengthwise.models import ShallowTransformer
from lengthwise.runs.files import read_json
from lengthwise.statistics import Arm, Median
from lengthwise.statistics.verdicts import all_of
from lengthwise.tasks import Recognition

app = typer.Typer()
app.command("reproduce")(reproduce)
app.command("language")(language)


def claim(name: str, least: float, inside: tuple[float, float]) -> Claim:
    rule = Median(metric="accuracy", length=3, arms=(Arm(variant="base"),), at_least=least, inside=inside)
    return Claim(id=name, statement=f"The claim {name}", rule=rule)


def tiny(name: str, *claims: Claim, reproduced: tuple[str, ...] = ("smoke", "quick")) -> Experiment:
    return Experiment(
        name=name, question="Does it?", task=Recognition(mean_length=3, longest=40),
        model=ModelOf(module=ShallowTransformer, settings={"hidden": 2}), averages=(), replicates=6, claims=claims,
        plan=Plan(phases=(Phase(steps=2, rates={"output": 1e-6}),), optimiser=SGD(), batch=4), metric="accuracy",
        measuring=Measuring(inputs=4, lengths=(3,)), reproduced=reproduced,
        scales={"smoke": {}, "quick": {}, "full": {}},
        sections=("verdicts", "curves"),
    )  # fmt: skip


# Any accuracy lies inside -1..2 and none inside 2..3: the one holds and the other fails, whatever is learnt.
HOLDS, FAILS = (-1.0, (-1.0, 2.0)), (-1.0, (2.0, 3.0))


@pytest.fixture
def small(monkeypatch: Any) -> None:
    """Experiments that share claims: both hold; one fails; one is decided elsewhere only."""
    both = claim("x.both", *HOLDS)
    each = [
        tiny("first", both, claim("x.mixed", *HOLDS)),
        tiny("second", both, claim("x.mixed", *FAILS)),
        tiny("third", claim("x.partly", *HOLDS), claim("x.late", *HOLDS), reproduced=("full",)),
        tiny("fourth", claim("x.partly", *HOLDS)),
    ]
    for name in [*EXPERIMENTS]:
        monkeypatch.delitem(EXPERIMENTS, name)
    for e in each:
        monkeypatch.setitem(EXPERIMENTS, e.name, e)


@pytest.fixture
def pages(monkeypatch: Any) -> list[dict[str, Any]]:
    """What pages were asked for, none of which is drawn: that takes longer than the runs."""
    asked: list[dict[str, Any]] = []

    def write_page(folder: Path, runs: Any = None, title: Any = None, not_run: Any = ()) -> Path:
        asked.append({"runs": [path.name for path in runs], "not run": [row["id"] for row in not_run]})
        return folder / "index.html"

    monkeypatch.setattr("lengthwise.reports.write_page", write_page)
    return asked


def call(*words: Any) -> Any:
    done = CliRunner().invoke(app, [str(word) for word in words])
    if isinstance(done.exception, InputError):
        raise done.exception
    return done


def test_a_claim_of_several_experiments_is_decided_by_all_of_them(
    small: None, pages: list[Any], tmp_path: Path
) -> None:
    done = call("reproduce", "--scale", "smoke", "--out", tmp_path / "out", "--json")
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    assert said["claims"] == {"x.both": "holds", "x.mixed": "fails", "x.partly": "holds", "x.late": "not run"}
    marker = read_json(tmp_path / "out" / MARKER)
    assert marker == {"scale": "smoke", "claims": "all", "runs": ["first", "second", "fourth"]}
    below = runs_below(tmp_path / "out") or []
    assert below == [tmp_path / "out" / name for name in marker["runs"]]
    decisions: dict[str, list[Any]] = {}
    for folder in below:
        for row in read_json(folder / "claims.json"):
            decisions.setdefault(row["id"], []).append(row["decision"])
    assert {k: all_of(v) for k, v in decisions.items()} == {k: v for k, v in said["claims"].items() if v != "not run"}
    assert pages == [{"runs": marker["runs"], "not run": ["x.partly", "x.late"]}] * (1 + len(below))


def test_plain_output_names_the_experiments_that_share_a_claim(small: None, pages: Any, tmp_path: Path) -> None:
    done = call("reproduce", "--scale", "smoke", "--out", tmp_path / "out")
    lines = [line for line in done.stdout.splitlines() if not line.startswith("page: ")]
    assert lines == [
        "x.both [first]: holds", "x.mixed [first]: holds", "x.both [second]: holds", "x.mixed [second]: fails",
        "x.partly: holds", "x.late: not run at scale smoke",
    ]  # fmt: skip


def test_only_the_claims_asked_for_are_said_and_checked(small: None, pages: Any, tmp_path: Path) -> None:
    done = call("reproduce", "x.both", "--scale", "smoke", "--out", tmp_path / "a", "--json", "--check")
    assert (done.exit_code, json.loads(done.stdout)["claims"]) == (0, {"x.both": "holds"})
    done = call("reproduce", "x.both", "x.mixed", "--scale", "smoke", "--out", tmp_path / "b", "--json", "--check")
    assert (done.exit_code, json.loads(done.stdout)["claims"]) == (1, {"x.both": "holds", "x.mixed": "fails"})


def test_a_run_folder_is_not_that_of_a_reproduction(tmp_path: Path) -> None:
    assert runs_below(tmp_path) is None


def test_claims_decided_at_another_scale_say_where_and_one_decided_partly_runs(small: None) -> None:
    here, others = _chosen([], "quick")
    assert here == ["first", "second", "fourth"]
    assert {row["id"]: row["why"] for row in others} == {
        "x.partly": "decided at scale full", "x.late": "decided at scale full",
    }  # fmt: skip
    assert _chosen(["x.partly"], "full")[0] == ["third"]
    with pytest.raises(InputError, match=r"^claim 'x.late': not decided at scale 'quick'; expected --scale full$"):
        _chosen(["x.late"], "quick")
    with pytest.raises(InputError, match=r"unknown claim 'x.lat': did you mean 'x.late'"):
        _chosen(["x.lat"], "quick")


@pytest.mark.parametrize("scale", ["smoke", "quick", "full"])
def test_every_claim_of_the_project_is_run_or_said_not_to_be(scale: str) -> None:
    here, others = _chosen([], scale)
    every = {c.id for e in EXPERIMENTS.values() for c in e.claims}
    assert {c.id for name in here for c in EXPERIMENTS[name].claims} | {row["id"] for row in others} == every
    assert sorted(here) == sorted(n for n, e in EXPERIMENTS.items() if scale in e.reproduced and e.claims)
    for name in every:
        owners = [e for e in EXPERIMENTS.values() if name in {c.id for c in e.claims}]
        if any(scale in e.reproduced for e in owners):
            assert _chosen([name], scale)[0] == [e.name for e in owners if scale in e.reproduced]


def test_a_claim_of_the_full_scale_is_refused_at_quick_in_one_line(tmp_path: Path, capsys: Any) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["reproduce", "lag.languages", "--out", str(tmp_path / "out")])
    assert ended.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    says = "lengthwise: claim 'lag.languages': not decided at scale 'quick'; expected --scale full"
    assert err.splitlines() == [says]
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([".*a.*", "--alphabet", "abc"], "the set of letters"),
        ([".*a", "--alphabet", "ab"], "the set of letters and the last letter"),
        (["(a|b)*abb"], "nothing that it sees: 'ab' and 'abb' have the same letters and last letter, and one is in"),
        ([".*a.*", "--alphabet", "abcdefghijklmnopq"], "not decided for more than 16 letters"),
    ],
)
def test_a_language_says_what_a_shallow_transformer_decides_it_by(words: list[str], says: str) -> None:
    done = call("language", *words)
    assert f"a shallow transformer decides it by: {says}\n" in done.stdout
