"""The HTML report: one file, no network, foreign text as text, and every number of the run."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from looseleaf.lab.compare import compare_runs
from looseleaf.protocol import PROTOCOLS
from looseleaf.report import Report, build_report, write_report
from looseleaf.report.figures.cells import cells_figure
from looseleaf.report.figures.curves import Line, curves_figure
from looseleaf.report.figures.intervals import Mark, intervals_figure
from looseleaf.report.figures.markup import Markup, tag
from looseleaf.report.html import as_html, comparison_page
from looseleaf.report.html_extras import extras_of
from looseleaf.report.html_lab import lab_parts
from looseleaf.roles import Usage
from looseleaf.runner.config import DataConfig, RunConfig
from looseleaf.runstore import ReadingRow, Run, ScoreRow
from test_report import HOSTILE, N, make_run, record

SCORES = "mmlongbench-22222222"
READER = "embedded-11111111"


def html_of(run: Run) -> str:
    write_report(run, build_report(run))
    return (run.path / "report" / "report.html").read_text(encoding="utf-8")


class Page(HTMLParser):
    """Elements, attributes and the text of table cells."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(text)

    def handle_starttag(self, name: str, attrs: Any) -> None:
        self.elements.append((name, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def flat(text: str) -> str:
    return " ".join(" ".join(Page(text).text).split())


def test_the_page_has_the_numbers_their_n_and_their_intervals(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", faults=4)
    report, text = build_report(run), flat(html_of(run))
    interval = report.headline["Acc"].interval
    assert interval is not None
    assert "50.0" in text
    assert "20 / 24" in text
    assert f"{100 * interval.low:.1f} – {100 * interval.high:.1f}" in text
    assert "[41.7 … 58.3]" in text
    for cell in ("memory-supported correct", "memory-missing correct", "answering error", "unresolved error"):
        assert cell in text


def test_everything_that_the_numbers_depend_on_is_on_the_page(tmp_path: Path) -> None:
    config = RunConfig(data=DataConfig(benchmark="mini", path="data"), protocol=PROTOCOLS["alden"])
    run = make_run(tmp_path / "run", config=config, oracle={"gold_pages": True})
    report, text = build_report(run), flat(html_of(run))
    for word in (*report.settings.values(), *report.notices, *report.marks.values(), *report.counts):
        assert " ".join(word.split()) in text, word


def test_nothing_is_fetched_and_nothing_runs(tmp_path: Path) -> None:
    text = html_of(make_run(tmp_path / "run"))
    page = Page(text)
    names = {name for name, _ in page.elements}
    assert not names & {"script", "link", "img", "iframe", "object", "image"}
    for _, attributes in page.elements:
        assert not {"src", "srcset", "xlink:href"} & set(attributes)
        assert not [key for key in attributes if key.startswith("on")]
        assert (attributes.get("href") or "#").startswith("#")
    assert "url(" not in text
    policy = next(a["content"] for n, a in page.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert "default-src 'none'" in policy


@pytest.mark.parametrize("text", HOSTILE)
def test_text_of_documents_is_text(tmp_path: Path, text: str) -> None:
    planted = text + '"><script>alert(1)</script><img src=x onerror=alert(1)>'
    page = Page(html_of(make_run(tmp_path / "run", question={"doc_type": planted, "answer_format": planted})))
    assert not {name for name, _ in page.elements} & {"script", "img"}
    assert "<script>alert(1)</script>" in "".join(page.text)
    assert not any(re.search(r"[\x00-\x08\x1b]", part) for part in page.text)


def extras_report(run: Run) -> tuple[Report, Any]:
    return build_report(run), extras_of(run, SCORES, READER, ">0")


def test_navigation_and_pages_opened_are_counted_over_every_row(tmp_path: Path) -> None:
    _, extras = extras_report(make_run(tmp_path / "run"))
    assert [(t.label, t.n_rows, t["Acc"].value) for t in extras.navigation] == [
        ("all gold pages shown", N, 0.5)
    ]
    assert [(t.label, t.n_rows) for t in extras.pages_opened] == [("1 page", N)]
    missed = make_run(tmp_path / "missed", question={"evidence_pages": (2, 9)})
    assert [t.label for t in extras_report(missed)[1].navigation] == ["some gold pages shown"]
    wrong = make_run(tmp_path / "wrong", question={"evidence_pages": (9,)})
    assert [t.label for t in extras_report(wrong)[1].navigation] == ["no gold page shown"]


def test_spending_adds_up(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    with run.writing():
        for index in range(N):
            usage = Usage(prompt_tokens=100, completion_tokens=10, calls=2, cost=0.5)
            run.trajectory_ledger.append(record(index, usage=usage, seconds=1.5))
    policy = extras_report(run)[1].spending[0]
    assert policy.usage == Usage(prompt_tokens=2400, completion_tokens=240, calls=48, cost=12.0)
    assert policy.seconds == 36
    text = flat(html_of(run))
    assert "2,400" in text
    assert "12.0000" in text


def test_training_curves_stand_where_trajectories_carry_steps(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    assert "step of training" not in html_of(run)
    with run.writing():
        for index in range(N):
            run.trajectory_ledger.append(record(index, step_of_training=100 * (index % 2)))
    _, extras = extras_report(run)
    assert [(t.label, t["Acc"].value) for t in extras.training] == [("0", 1.0), ("100", 0.0)]
    assert "step of training" in html_of(run)


def test_the_labs_parts_are_absent_without_their_readings_and_there_with_them(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    _, extras = extras_report(run)
    assert (extras.anytime, extras.intervention, extras.agreements) == (None, None, [])
    assert [part for part in lab_parts(extras) if part] == []
    with run.writing():
        for index in range(N):
            for variant in ("empty", "prefix:1"):
                key = f"mini:{index}#0"
                run.readings(READER).append(ReadingRow(trajectory_id=key, variant=variant, text="7"))
                run.scores(SCORES).append(
                    ScoreRow(
                        trajectory_id=key,
                        target="memory",
                        reading_id=READER,
                        variant=variant,
                        extraction_id="embedded-33333333",
                        prediction="7",
                        value=float(variant != "empty" and index % 4 == 0),
                    )
                )
    text = flat(html_of(run))
    assert "Anytime memory" in text
    assert "Intervention" in text
    assert "Agreement of readers" not in text


def test_two_readers_are_compared(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", readers=(READER, "gguf-44444444"))
    assert "Agreement of readers" in flat(html_of(run))


def test_a_comparison_has_the_paired_differences(tmp_path: Path) -> None:
    runs = [make_run(tmp_path / name) for name in ("one", "two")]
    comparison = compare_runs(*runs)
    text = flat(comparison_page([build_report(run) for run in runs], [comparison]))
    assert "A = one against B = two" in text
    assert "95 % interval" in text
    assert "Paired by question, clustered by document" in text


def test_the_command_writes_the_pages(cli: Any, tmp_path: Path) -> None:
    runs = [make_run(tmp_path / name).path for name in ("one", "two")]
    done = cli("report", *runs)
    assert done.code == 0, done.err
    assert (runs[0] / "report" / "report.html").is_file()
    assert (runs[1] / "report" / "report.html").is_file()
    assert "A = one against B = two" in (runs[0] / "report" / "report-one-two.html").read_text(
        encoding="utf-8"
    )


# -- figures ---------------------------------------------------------------------------------------------------------


def rectangles(figure: Markup | None) -> list[tuple[float, float]]:
    found = [a for name, a in Page(figure or "").elements if name == "rect"]
    return [(float(a["width"] or 0) + 2, float(a["height"] or 0) + 2) for a in found]


def test_areas_of_the_mosaic_are_shares() -> None:
    shares = {"11": 0.3, "10": 0.2, "01": 0.1, "00": 0.4}
    areas = [width * height for width, height in rectangles(cells_figure(shares))]
    assert [area / sum(areas) for area in areas] == pytest.approx(list(shares.values()), abs=1e-3)


def test_undefined_values_are_not_drawn_as_zero() -> None:
    assert cells_figure({"11": None, "10": None, "01": None, "00": None}) is None
    assert intervals_figure("t", ["a"], [("x", [Mark(None)])]) is None
    figure = intervals_figure("t", ["a", "b"], [("x", [Mark(None), Mark(50, 40, 60)])])
    assert "undefined" in "".join(Page(figure or "").text)
    assert curves_figure("t", "turns", [Line("a", [])]) is None


def test_markup_escapes_text_and_attributes() -> None:
    assert tag("p", "<b>", title='"') == '<p title="&quot;">&lt;b&gt;</p>'
    assert tag("p", tag("b", "&")) == "<p><b>&amp;</b></p>"


def test_the_page_of_an_imported_run_without_configuration(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    (run.path / "config.toml").unlink()
    (run.path / "manifest.json").unlink()
    report, extras = build_report(run), extras_of(run, SCORES, None, ">0")
    assert "50.0" in as_html(report, extras)
