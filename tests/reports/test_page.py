"""The page as a reader meets it: whole, alone on its disk, honest about what is missing, and safe to write again."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest

import lengthwise
from lengthwise.errors import InputError
from lengthwise.reports import page, write_page
from lengthwise.reports.sections import sections_of

FIGURES = {
    "curves-tv", "averages-tv", "curves-other-metrics", "displacement", "attention-entropy", "contrasts-variants",
    "contrasts-averages", "loss", "along-tv",
}  # fmt: skip
TABLES = {
    "verdicts", "tv-by-length", "displacement-slopes", "strengths", "contrasts-variants-table",
    "contrasts-averages-table", "contrasts-best-other", "inverse-temperatures", "failures",
    "variants", "plan", "provenance",
}  # fmt: skip
FEW, SOME = (1, 4, 8, 15), ("displacement", "contrasts", "history")
HOSTILE = '<script>alert("x")</script> & $\\frac$ _'


class Reader(HTMLParser):
    """The text, addresses, identifiers and tags of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text, self.links, self.ids, self.tags = "", list[str](), list[str](), Counter[str]()
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags[tag] += 1
        self.links += [v for k, v in attrs if k in ("href", "src", "xlink:href") and v]
        self.ids += [v for k, v in attrs if k == "id" and v]

    def handle_data(self, data):
        self.text += data


def read(folder: Path) -> Reader:
    return Reader((folder / "index.html").read_text(encoding="utf-8"))


def test_every_figure_is_svg_and_pdf_and_every_table_is_csv(run: Path):
    assert {p.name for p in (run / "figures").iterdir()} == {f"{n}.{e}" for n in FIGURES for e in ("svg", "pdf")}
    assert {p.stem for p in (run / "tables").iterdir()} == FIGURES | TABLES
    for path in (run / "figures").glob("*.svg"):
        assert ElementTree.parse(path).getroot().tag.endswith("svg")
    assert all(p.read_bytes().startswith(b"%PDF") for p in (run / "figures").glob("*.pdf"))
    assert all(len(pl.read_csv(p)) for p in (run / "tables").iterdir())


def test_the_page_needs_nothing_but_itself(run: Path):
    html = (run / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"https?:|//[\w.]+/|@import|<script|<link rel=.stylesheet|url\((?!#)", html)
    assert html.count('<svg role="img"') == len(FIGURES)


def test_every_link_and_every_reference_leads_somewhere(run: Path):
    page = read(run)
    assert max(Counter(page.ids).values()) == 1
    for link in page.links:
        assert link == "data:," or (link[1:] in page.ids if link.startswith("#") else (run / link).is_file()), link
    used = set(re.findall(r"url\(#([^)]+)\)", (run / "index.html").read_text(encoding="utf-8")))
    assert used
    assert used <= set(page.ids)


def test_it_shows_question_verdicts_rules_settings_provenance_and_loading(run: Path):
    text = read(run).text
    for words in (
        "Does error grow with length, and what helps?", "The statement of sc.dispersion", "lies inside [-1.1, -0.9]",
        "holds", '"s_train": 8', "0123abcd", "lengthwise run synthetic", "lengthwise.load('run')",
        "run.model('no norm', replicate=0, weights='ema@0.99')",
    ):  # fmt: skip
        assert words in text, words


def test_the_same_data_gives_the_same_bytes_in_another_process(run: Path):
    def all_bytes() -> dict[str, bytes]:
        return {str(p): p.read_bytes() for p in [*run.glob("figures/*"), *run.glob("tables/*"), run / "index.html"]}

    before = all_bytes()
    alone(f"from pathlib import Path; from lengthwise.reports import write_page; write_page(Path({str(run)!r}))")
    assert all_bytes() == before
    assert not list(run.rglob("*.partial"))


def test_an_unfinished_run_says_what_is_pending_and_is_rewritten_when_it_ends(build_run):
    folder = build_run(
        finished=False, variants={"a": {}, "b": {}}, averages=(), sections=("verdicts", "curves", "history")
    )
    assert write_page(folder) == folder / "index.html"
    text = read(folder).text
    assert "2 variants times 7 replicates, 14 models in all, up to 150 steps each" in text
    assert text.count("Pending: this part appears once the run has been measured.") == 2
    assert "not run" in text
    build_run(variants={"a": {}, "b": {}}, averages=(), sections=("verdicts",))
    write_page(folder)
    text = read(folder).text
    assert "Pending" not in text
    assert "not run" not in text
    assert "holds" in text


def test_a_run_without_provenance_yet_renders(build_run):
    folder = build_run(finished=False)
    (folder / "provenance.json").unlink()
    assert "Getting a model back" in read(write_page(folder).parent).text


def test_several_runs_share_a_page_and_keep_their_files_apart(build_run, tmp_path: Path):
    small = {"variants": {"a": {}, "b": {}}, "averages": (), "sections": ("verdicts", "curves", "settings")}
    runs = [build_run("x/run", **small), build_run("y/run", finished=False, **small), build_run("z", **small)]
    page = read(write_page(tmp_path / "page", runs, title="Three runs").parent)
    assert "Three runs" in page.text
    assert max(Counter(page.ids).values()) == 1
    assert (
        page.text.count("sc.dispersion") == 5 * 3
    )  # overview, answer and card of each run, statements in the first and the last
    assert {p.name for p in (tmp_path / "page" / "figures").glob("*tv.svg")} == {
        "run-1-curves-tv.svg",
        "z-curves-tv.svg",
    }
    assert not (runs[0] / "index.html").exists()


def test_failed_models_are_counted_listed_and_left_out(build_run):
    failed = [("no norm", 3), ("post-norm", 0), ("post-norm", 6)]
    folder = build_run(failed=failed, averages=(), sections=("curves", "history"))
    text = read(write_page(folder).parent).text
    assert "3 of 21 models failed" in text
    assert "norm = post; 100 steps with rates all = 0.01, then 50 steps with rates all = 0.01; kind = adam" in text
    table = pl.read_csv(folder / "tables" / "tv-by-length.csv").filter(length=15, metric="tv")
    assert dict(table.select("variant", "failed").iter_rows()) == {"no norm": 1, "post-norm": 2, "sum, not mean": 0}
    assert dict(table.select("variant", "n").iter_rows()) == {"no norm": 6, "post-norm": 5, "sum, not mean": 7}
    assert "nan" not in text.lower()


def test_a_variant_of_which_every_model_failed_still_has_its_place(build_run):
    folder = build_run(failed=[("post-norm", r) for r in range(7)], averages=(), lengths=FEW, sections=SOME)
    assert "7 of 21 models failed" in read(write_page(folder).parent).text
    assert pl.read_csv(folder / "tables" / "displacement.csv").filter(variant="post-norm")["n"].sum() == 0


def test_one_replicate_has_no_intervals(build_run):
    folder = build_run(replicates=1, averages=("bema",), lengths=FEW, sections=("verdicts", "curves", "contrasts"))
    page = write_page(folder).read_text(encoding="utf-8")
    assert "1 replicate: too few for intervals" in page
    assert 'class="interval"' not in page
    for path in (folder / "tables").glob("*.csv"):
        table = pl.read_csv(path, infer_schema_length=None)
        assert "low" not in table.columns or table["low"].null_count() == len(table), path.name


def test_hostile_names_are_shown_and_never_run(build_run):
    hidden = "_" + "long " * 30
    sections = ("verdicts", "curves", "contrasts", "settings")
    folder = build_run(variants={HOSTILE: {}, hidden: {"norm": HOSTILE}}, averages=(), lengths=FEW, sections=sections)
    html = write_page(folder).read_text(encoding="utf-8")
    assert "<script" not in html
    page = Reader(html)
    assert page.tags["script"] == 0
    assert HOSTILE in page.text
    for path in (folder / "figures").glob("*.svg"):
        ElementTree.parse(path)
    assert pl.read_csv(folder / "tables" / "curves-tv.csv")["variant"].first() == HOSTILE


def test_a_run_without_the_usual_metrics_says_so(build_run):
    folder = build_run(variants={"a": {}, "b": {}}, averages=(), sections=("curves", "displacement", "contrasts"))
    curve = (
        pl.read_parquet(folder / "curve.parquet").filter(metric="tv").with_columns(metric=pl.lit("../wrong_answers"))
    )
    curve.write_parquet(folder / "curve.parquet")
    text = read(write_page(folder).parent).text
    assert "This run has no logit displacement" in text
    assert (folder / "figures" / "curves-wrong-answers.svg").is_file()
    assert "mean ../wrong answers is" in text


def alone(code: str) -> None:
    """Run code in a process that imports the reports without the rest of the package, and hashes otherwise."""
    start = (
        "import sys, types\n"
        f"package = types.ModuleType('lengthwise'); package.__path__ = [{str(Path(lengthwise.__file__).parent)!r}]\n"
        "sys.modules['lengthwise'] = package\n"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "12"}
    subprocess.run([sys.executable, "-c", start + code], check=True, env=environment)


def test_drawing_is_imported_only_when_needed_and_torch_never():
    alone(
        "import lengthwise.reports\n"
        "assert not {'matplotlib', 'jinja2'} & set(sys.modules)\n"
        "import lengthwise.reports.page\n"
        "assert 'matplotlib' in sys.modules\n"
        "assert not {'torch', 'matplotlib.pyplot'} & set(sys.modules)\n"
    )


def test_an_unwritable_place_is_one_clear_line(build_run, tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"^cannot write [^\n]*$"):
        write_page(tmp_path / "file", [build_run(finished=False)])


def test_a_run_is_drawn_again_only_when_its_files_change(build_run, tmp_path, monkeypatch):
    first, second = build_run("first", sections=("verdicts",)), build_run("second", sections=("verdicts",))
    drawn = []
    monkeypatch.setattr(page, "sections_of", lambda record: drawn.append(record.name) or sections_of(record))
    write_page(tmp_path / "whole", [first, second])
    before = read(tmp_path / "whole").text
    write_page(tmp_path / "whole", [first, second])
    assert (drawn, read(tmp_path / "whole").text) == (["first", "second"], before)
    claims = second / "claims.json"
    claims.write_text(
        claims.read_text(encoding="utf-8").replace('"statement": "', '"statement": "Really: '), encoding="utf-8"
    )
    write_page(tmp_path / "whole", [first, second])
    assert drawn == ["first", "second", "second"]
    assert "Really: " in read(tmp_path / "whole").text
