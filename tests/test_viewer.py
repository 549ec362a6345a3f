"""The viewer's addresses: what is stored, who may ask, and nothing outside."""

from __future__ import annotations

import http.client
import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np
import pypdfium2
import pytest

from fakes import pdf_bytes
from looseleaf.document import PageStore
from looseleaf.errors import ConfigError
from looseleaf.lab.grounding.audit import GroundingRow
from looseleaf.lab.grounding.record import ClaimKind, ClaimVerdict, Verdict
from looseleaf.lab.human_audit import draw_sample
from looseleaf.lab.human_audit_file import read_labels, write_sample
from looseleaf.runstore import Ledger, Run, ScoreRow
from looseleaf.viewer.pages import PageSource
from looseleaf.viewer.words import page_words
from viewer_runs import READER, SCORES, make_run, served, trajectory

pytest.importorskip("starlette", reason="the viewer is an extra: pip install 'looseleaf[view]'")


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def ask(address: str, path: str, method: str = "GET", body: str | None = None, **headers: str) -> Answer:
    """One request, its path exactly as given."""
    connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=30)
    try:
        given = {"Connection": "close"} | {key.replace("_", "-"): value for key, value in headers.items()}
        connection.request(method, path, body, given)
        answer = connection.getresponse()
        return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
    finally:
        connection.close()


class World(NamedTuple):
    address: str
    run: Run
    audit: Path


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("viewer")
    run, other = make_run(folder / "one"), make_run(folder / "two", every_memory=3)
    audit = write_sample(run, draw_sample(run, 12))
    with PageStore(folder / "cache") as store, served([run, other], store) as address:
        yield World(address, run, audit)


KEY = quote("mini:1#0")


def test_runs_are_listed_with_what_they_are(world: World) -> None:
    one, two = ask(world.address, "/api/runs").json
    assert (one["name"], two["name"]) == ("one", "two")
    assert (one["n"], one["with_trajectory"], one["torn"]) == (12, 12, False)
    assert one["audits"] == [world.audit.stem]
    assert one["page_problem"] == ""


def test_the_list_has_every_question_with_its_cell(world: World) -> None:
    rows = ask(world.address, "/api/runs/one/questions").json
    assert [row["id"] for row in rows] == [f"mini:{index}#0" for index in range(12)]
    assert [row["cell"] for row in rows[:6]] == ["11", "10", "01", "10", "11", "00"]
    assert [row["id"] for row in rows if row["scorers_differ"]] == ["mini:1#0"]
    assert (rows[0]["pages"], rows[0]["recall"], rows[0]["findings"], rows[0]["turns"]) == (2, 1.0, 2, 4)


def test_a_trajectory_has_its_steps_memory_and_readings(world: World) -> None:
    found = ask(world.address, f"/api/runs/one/trajectory?id={KEY}").json
    assert found["question"]["gold_pages"] == [2]
    assert found["trajectory"]["steps"][0]["observation"]["shown"] == [2, 3]
    assert [(m["turn"], m["page"], m["cites_gold"], m["page_was_shown"]) for m in found["memory"]] == [
        (2, 2, True, True),
        (3, 3, False, True),
    ]
    assert found["readings"][0]["text"] == "7"
    assert found["answer_score"] == {"value": 1.0, "unscored": None, "upstream_raises": None, "correct": True}
    assert found["scorers_differ"] is True


def test_pages_are_rendered_and_texts_read_from_the_document(world: World) -> None:
    image = ask(world.address, f"/api/runs/one/page?id={KEY}&page=2&size=thumb")
    assert (image.status, image.headers["content-type"], image.body[:2]) == (200, "image/jpeg", b"\xff\xd8")
    text = ask(world.address, f"/api/runs/one/text?id={KEY}&page=2").json["text"]
    assert text == "The city of Oslo has 7 stations in use."
    assert not list(world.run.path.rglob("*.jpg"))


def test_words_have_their_places(world: World) -> None:
    words = ask(world.address, f"/api/runs/one/words?id={KEY}&page=2").json
    assert [word for word, *_ in words] == ["The", "city", "of", "Oslo", "has", "7", "stations", "in", "use."]
    for _, left, top, right, bottom in words:
        assert 0 < left < right < 1
        assert 0 < top < bottom < 0.2
    assert ask(world.address, f"/api/runs/one/words?id={KEY}&page=9").status == 409


def test_verdicts_of_the_grounding_check_stand_beside_findings(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", 3)
    row = GroundingRow(
        trajectory_id="mini:1#0",
        finding=2,
        source_page=3,
        verdict=Verdict.CONTRADICTED,
        claims=(ClaimVerdict(ClaimKind.NUMBER, "12", Verdict.CONTRADICTED, "13"),),
    )
    with run.writing():
        ledger = Ledger(run.path / "audits" / "grounding-embedded-1.jsonl", GroundingRow)
        ledger.append(row)
        ledger.close()
    memory = first(run, tmp_path, f"/api/runs/run/trajectory?id={KEY}")["memory"]
    assert memory[0]["grounding"] == []
    (found,) = memory[1]["grounding"]
    assert (found["check"], found["verdict"], found["claims"][0]["found"]) == (
        "grounding-embedded-1",
        "contradicted",
        "13",
    )


def test_findings_that_carry_the_answer_are_marked(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", 3)
    values = {"leave-one-out:1": 0.0, "leave-one-out:2": 1.0, "keep-one-in:1": 1.0, "keep-one-in:2": 0.0}
    values |= {"empty": 0.0, "prefix:1": 1.0, "prefix:2": 1.0}
    with run.writing():
        scores = run.scores(SCORES)
        for variant, value in values.items():
            scores.append(
                ScoreRow(
                    trajectory_id="mini:0#0", target="memory", reading_id=READER, variant=variant, value=value
                )
            )
    found = first(run, tmp_path, f"/api/runs/run/trajectory?id={quote('mini:0#0')}")
    assert [(each["sufficient"], each["necessary"]) for each in found["memory"]] == [
        (True, True),
        (False, False),
    ]
    assert found["history"] == [0.0, 1.0, 1.0]


def test_a_page_that_is_not_there_says_so(world: World) -> None:
    answer = ask(world.address, f"/api/runs/one/page?id={KEY}&page=99")
    assert answer.status == 409
    assert "has no page 99" in answer.json["error"]


ESCAPES = [
    "/../../../etc/passwd",
    "/%2e%2e/%2e%2e/etc/passwd",
    "/static/../app.py",
    "/static/..%2fapp.py",
    "/static/%2e%2e%2f%2e%2e%2fpyproject.toml",
    "/static//etc/passwd",
    "/static/",
    "/etc/passwd",
    "/api/runs/..%2f..%2fetc/questions",
    "/api/runs/../questions",
    "/api/runs/one/../../../etc/passwd",
    "/api/runs/one/trajectory?id=../../../etc/passwd",
    "/api/runs/one/trajectory?id=%2fetc%2fpasswd",
    f"/api/runs/one/page?id={KEY}&page=../../etc/passwd",
    f"/api/runs/one/page?id={KEY}&page=-1",
    f"/api/runs/one/page?id={KEY}&page=1&size=../full",
    "/api/runs/one/page?id=..%2f..%2fetc%2fpasswd&page=1",
    f"/api/runs/one/text?id={KEY}&page=1%00",
    "/api/runs/one/audits/..%2f..%2fquestions",
    "/api/runs/one/audits/../questions",
    "/api/runs/one/audits/%2e%2e%2ftrajectories",
    "/api/runs/nope/questions",
]


@pytest.mark.parametrize("path", ESCAPES)
def test_no_address_leads_out_of_the_runs(world: World, path: str) -> None:
    answer = ask(world.address, path)
    assert answer.status == 404
    assert b"root:" not in answer.body
    assert ask(world.address, path, "HEAD").status == 404


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "[::2]", "192.168.0.7"]
)
def test_other_names_for_this_machine_are_refused(world: World, host: str) -> None:
    """DNS rebinding: a page elsewhere whose name leads here must not read a run."""
    assert ask(world.address, "/api/runs", Host=host).status == 403


@pytest.mark.parametrize("host", ["127.0.0.1:1234", "localhost:99", "localhost", "[::1]:80"])
def test_the_names_of_this_machine_are_answered(world: World, host: str) -> None:
    assert ask(world.address, "/api/runs", Host=host).status == 200


def test_every_answer_forbids_foreign_content(world: World) -> None:
    for path in ("/", "/static/app.js", "/api/runs", "/nothing", f"/api/runs/one/page?id={KEY}&page=1"):
        headers = ask(world.address, path).headers
        assert "default-src 'none'" in headers["content-security-policy"], path
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
    assert "server" not in ask(world.address, "/").headers


def test_only_loopback_is_listened_on() -> None:
    from looseleaf.viewer.serve import HOST, listen

    taken = listen(0)
    try:
        assert taken.getsockname()[0] == HOST == "127.0.0.1"
        with pytest.raises(ConfigError, match="choose another --port"):
            listen(taken.getsockname()[1])
    finally:
        taken.close()


# -- labels ------------------------------------------------------------------------------------------------------------


def label(world: World, body: Any, **headers: str) -> Answer:
    path = f"/api/runs/one/audits/{world.audit.stem}/label"
    text = body if isinstance(body, str) else json.dumps(body)
    return ask(world.address, path, "POST", text, **({"Content_Type": "application/json"} | headers))


def test_labels_are_saved_as_the_estimate_reads_them(world: World) -> None:
    rows = ask(world.address, f"/api/runs/one/audits/{world.audit.stem}").json
    assert len(rows) == 12
    assert not {"stratum", "cell", "score"} & set(rows[0])
    key = rows[3]["trajectory_id"]
    before = world.audit.read_text(encoding="utf-8").splitlines()
    assert label(world, {"trajectory_id": key, "labels": {"final_right": "yes"}}).status == 200
    assert label(world, {"trajectory_id": key, "labels": {"memory_sufficient": "no"}}).status == 200
    _, labels = read_labels(world.audit)
    assert (labels[key].final_right, labels[key].memory_sufficient) == (True, False)
    after = world.audit.read_text(encoding="utf-8").splitlines()
    assert [n for n, (a, b) in enumerate(zip(before, after, strict=True)) if a != b] == [3]
    assert (
        label(world, {"trajectory_id": key, "labels": {"final_right": "", "memory_sufficient": ""}}).status
        == 200
    )
    assert world.audit.read_text(encoding="utf-8").splitlines() == before


def test_labels_that_cannot_be_are_refused(world: World) -> None:
    key = "mini:1#0"
    before = world.audit.read_bytes()
    assert label(world, {"trajectory_id": "nope", "labels": {"final_right": "yes"}}).status == 404
    assert label(world, {"trajectory_id": key, "labels": {"final_right": "perhaps"}}).status == 409
    assert label(world, {"trajectory_id": key, "labels": {"gold_answer": "yes"}}).status == 409
    assert label(world, "no json").status == 400
    assert label(world, '{"trajectory_id": "' + "x" * 20_000 + '"}').status == 413
    good = {"trajectory_id": key, "labels": {"final_right": "yes"}}
    assert label(world, good, Origin="http://evil.example").status == 403
    assert label(world, good, Content_Type="text/plain").status == 403
    assert label(world, good, Host="evil.example").status == 403
    assert world.audit.read_bytes() == before


# -- runs that are not whole -------------------------------------------------------------------------------------------


def first(run: Run, tmp_path: Path, path: str) -> Any:
    with PageStore(tmp_path / "c") as store, served([run], store) as address:
        return ask(address, path).json


def test_a_run_that_is_being_written(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    whole = (run.path / "trajectories.jsonl").read_bytes().splitlines(keepends=True)
    (run.path / "trajectories.jsonl").write_bytes(b"".join(whole[:5]) + whole[5][:40])
    for path in (run.path / "scores").iterdir():
        path.unlink()
    with PageStore(tmp_path / "c") as store, served([run], store) as address:
        summary = ask(address, "/api/runs").json[0]
        assert (summary["n"], summary["with_trajectory"], summary["torn"]) == (12, 5, True)
        rows = ask(address, "/api/runs/run/questions").json
        assert [row["stop"] for row in rows].count("not run") == 7
        found = ask(address, f"/api/runs/run/trajectory?id={quote('mini:9#0')}").json
        assert (found["trajectory"], found["memory"], found["cell"]) == (None, [], None)


def test_what_was_written_meanwhile_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("looseleaf.viewer.app.REFRESH_SECONDS", 0.0)
    run = make_run(tmp_path / "run")
    whole = (run.path / "trajectories.jsonl").read_bytes()
    (run.path / "trajectories.jsonl").write_bytes(b"".join(whole.splitlines(keepends=True)[:5]))
    with PageStore(tmp_path / "c") as store, served([run], store) as address:
        assert ask(address, "/api/runs").json[0]["with_trajectory"] == 5
        (run.path / "trajectories.jsonl").write_bytes(whole)
        assert ask(address, "/api/runs").json[0]["with_trajectory"] == 12


def test_a_run_that_is_not_scored(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    for path in (run.path / "scores").iterdir():
        path.unlink()
    run.write_manifest({})
    rows = first(run, tmp_path, "/api/runs/run/questions")
    assert {(row["cell"], row["answer_score"]) for row in rows} == {(None, None)}


def test_a_foreign_run_of_trajectories_alone(tmp_path: Path) -> None:
    """No questions, no configuration, no documents: what is there is shown, and why there are no pages."""
    run = Run.create(tmp_path / "foreign")
    with run.writing():
        run.trajectory_ledger.append(
            trajectory(0, "", trajectory_id="theirs/7", question_id="theirs/7", memory=())
        )
    with PageStore(tmp_path / "c") as store, served([run], store) as address:
        assert "give their folder with --data" in ask(address, "/api/runs").json[0]["page_problem"]
        assert [row["id"] for row in ask(address, "/api/runs/foreign/questions").json] == ["theirs/7"]
        found = ask(address, "/api/runs/foreign/trajectory?id=theirs%2F7").json
        assert found["question"]["gold_pages"] is None
        page = ask(address, "/api/runs/foreign/page?id=theirs%2F7&page=1")
        assert (page.status, "--data" in page.json["error"]) == (409, True)


def test_a_document_that_has_changed_is_not_shown_as_the_one_that_was_read(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", sha256="0" * 64)
    found = first(run, tmp_path, f"/api/runs/run/page?id={KEY}&page=1")
    assert "sha256 differs" in found["error"]


def test_a_document_that_is_missing(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    (tmp_path / "docs" / "report.pdf").unlink()
    (tmp_path / "docs" / "other.pdf").write_bytes(b"%PDF-1.4")
    found = first(run, tmp_path, f"/api/runs/run/page?id={KEY}&page=1")
    assert "report.pdf" in found["error"] or "document" in found["error"]
    assert first(run, tmp_path, f"/api/runs/run/trajectory?id={KEY}")["trajectory"]["answer"] == "7"


# -- the command -------------------------------------------------------------------------------------------------------


def test_the_command_serves_until_it_is_interrupted(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", 3)
    command = [sys.executable, "-m", "looseleaf", "view", str(run.path), "--port", "0", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            address = re.search(r"http://127\.0\.0\.1:\d+", line)
            assert address is not None, line
            assert [each["name"] for each in ask(address[0], "/api/runs").json] == ["run"]
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=30)
        finally:
            process.kill()
    assert said == ""
    assert process.returncode == 130


def test_the_command_without_its_extra_says_what_to_install(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    done = cli("view", tmp_path)
    assert (done.code, "pip install 'looseleaf[view]'" in done.err) == (2, True)


def test_a_folder_that_is_no_run(cli: Any, tmp_path: Path) -> None:
    done = cli("view", tmp_path, "--no-browser", "--port", 0)
    assert (done.code, "There is no run in" in done.err) == (2, True)


def test_data_that_has_moved_is_found_with_data(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", 3)
    (tmp_path / "docs").rename(tmp_path / "moved")
    with PageStore(tmp_path / "c") as store:
        gone = PageSource(run.config, store)
        assert gone.problem
        there = PageSource(run.config, store, tmp_path / "moved")
        assert there.problem == ""
        question = run.questions()[0]
        assert there.text(question, "", 2) == "The city of Oslo has 7 stations in use."


def test_two_runs_of_one_name_are_told_apart(tmp_path: Path) -> None:
    runs = [make_run(tmp_path / part / "run", 3) for part in "ab"]
    with PageStore(tmp_path / "c") as store, served(runs, store) as address:
        assert [each["name"] for each in ask(address, "/api/runs").json] == ["run", "run-2"]


@pytest.mark.parametrize("turned", [0, 90, 180, 270])
def test_marks_lie_on_the_drawn_words_however_the_page_is_turned(tmp_path: Path, turned: int) -> None:
    """All ink of the drawn page is inside the words' places, and they cover little else."""
    pdf = pypdfium2.PdfDocument(pdf_bytes("The city of Oslo has 7 stations in use."))
    page = pdf[0]
    page.set_rotation(turned)
    page.set_cropbox(20, 30, 560, 800)
    path = tmp_path / "turned.pdf"
    pdf.save(path)
    drawn = pypdfium2.PdfDocument(path)[0].render(scale=2).to_pil().convert("L")
    ink = np.asarray(drawn) < 128
    places = page_words(path, "", 1)
    assert [word for word, *_ in places] == [
        "The",
        "city",
        "of",
        "Oslo",
        "has",
        "7",
        "stations",
        "in",
        "use.",
    ]
    inside = np.zeros_like(ink)
    height, width = ink.shape
    for _, left, top, right, bottom in places:
        inside[int(top * height) : int(bottom * height) + 1, int(left * width) : int(right * width) + 1] = (
            True
        )
    assert ink[inside].sum() / ink.sum() > 0.97
    assert inside.mean() < 0.02
