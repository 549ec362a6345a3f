"""Preflight: what cannot work is said before the first question, and what a run takes is estimated."""

from __future__ import annotations

import io
import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from conftest import OwnSet
from looseleaf.document import PageStore
from looseleaf.errors import ConfigError
from looseleaf.models.chat.canary import HEIGHT, WIDTH, Canary, blank_page
from looseleaf.models.chat.estimate import RunPlan, estimate, looks_of
from looseleaf.models.chat.image_tokens import FAMILIES
from looseleaf.models.chat.options import ChatOptions
from looseleaf.models.preflight import PreflightReport, check_consent, preflight
from looseleaf.models.role_spec import RoleSpec
from looseleaf.protocol import PROTOCOLS, named_protocol
from stub_server import MODEL, Request, Response, StubServer, call, completion, error

PLAN = RunPlan(questions=100, protocol=named_protocol("awm", max_turns=6))
TOKENS_PER_IMAGE = 300


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LOOSELEAF_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("looseleaf.models.chat.backoff.FIRST_WAIT", 0.001)
    return tmp_path / "cache"


@pytest.fixture
def code(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The code that the next canary will carry, known to the stub that plays a model which can read."""
    drawn: dict[str, str] = {}
    draw = Canary.draw

    def remembered(*arguments: Any) -> Canary:
        canary = draw(*arguments)
        drawn["code"] = f"{canary.word} {canary.number}"
        return canary

    monkeypatch.setattr(Canary, "draw", remembered)
    return drawn


class Model:
    """A stub model: lists itself, counts image tokens, reads the canary if it is shown one."""

    def __init__(
        self,
        code: dict[str, str],
        *,
        sees: bool = True,
        counts: bool = True,
        context: int | None = None,
        refuse: dict[str, Response] | None = None,
    ) -> None:
        self.code = code
        self.sees = sees
        self.counts = counts
        self.context = context
        self.refuse = refuse or {}

    def __call__(self, request: Request) -> Response:
        if request.path == "/v1/models":
            entry: dict[str, Any] = {"id": MODEL, "object": "model"}
            if self.context:
                entry["max_model_len"] = self.context
            return Response(200, json.dumps({"data": [entry, {"id": "other-model"}]}).encode())
        for field, response in self.refuse.items():
            if self.has(request, field):
                return response
        tokens = 50 + (TOKENS_PER_IMAGE * request.images if self.sees else 0) if self.counts else 0
        if "tools" in request.json:
            return call("search", query="x")
        said = self.code.get("code", "") if self.sees and request.images else "OK"
        return completion(f"It says {said}.", prompt_tokens=tokens)

    @staticmethod
    def has(request: Request, field: str) -> bool:
        if field.startswith("images>"):
            return request.images > int(field[7:])
        if field.startswith("bytes>"):
            return len(request.body) > int(field[6:])
        return field == "always" or field in request.json


def look(
    model: Any, plan: RunPlan = PLAN, role: Any = "policy", **options: Any
) -> tuple[PreflightReport, StubServer]:
    with StubServer(model) as stub:
        return preflight(
            [(role, RoleSpec.parse(f"openai:{MODEL}", base_url=stub.base_url, **options))], plan
        ), stub


def fails(model: Any, match: str, plan: RunPlan = PLAN, role: Any = "policy", **options: Any) -> str:
    with pytest.raises(ConfigError, match=match) as caught:
        look(model, plan, role, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert message.endswith(".")
    return message


# -- what works ------------------------------------------------------------------------------------------------


def test_a_server_that_can_do_it(code: dict[str, str]) -> None:
    report, stub = look(Model(code, context=100_000))
    [role] = report.roles
    assert role.found.models == (MODEL, "other-model")
    assert role.found.context == 100_000
    assert role.found.reads_images is True
    assert role.found.image_tokens == (TOKENS_PER_IMAGE, round(WIDTH / 28) * round(HEIGHT / 28))
    assert role.found.images == role.load.most_images == 6
    assert report.calls == 600
    assert report.cost is None
    assert report.spent.calls == len(stub.log.chats) - 1, "the tool probe says nothing that is used"
    assert any("6 images a request" in line for line in report.lines())
    most = max(stub.log.chats, key=lambda request: len(request.body))
    assert most.images == 6
    assert len(most.body) == pytest.approx(role.load.request_bytes, rel=0.05)


def test_probes_are_never_cached(code: dict[str, str], own_cache: Path) -> None:
    look(Model(code))
    assert not (own_cache / "replies").exists()


def test_counted_tokens_correct_the_estimate(code: dict[str, str]) -> None:
    report, _ = look(Model(code))
    [role] = report.roles
    formula = round(WIDTH / 28) * round(HEIGHT / 28)
    text = role.load.prompt_tokens - role.load.image_tokens
    assert role.tokens == pytest.approx(
        text + role.load.image_tokens * TOKENS_PER_IMAGE / formula + role.load.completion_tokens, rel=1e-6
    )


def test_a_reader_is_asked_one_word_and_shown_nothing(code: dict[str, str]) -> None:
    report, stub = look(Model(code), role="reader")
    assert report.calls == 100
    assert len(stub.log.chats) == 1
    assert stub.log.chats[0].images == 0


def test_embedded_roles_are_not_looked_at() -> None:
    assert (
        preflight([("policy", RoleSpec.parse("embedded")), ("judge", RoleSpec.parse("none"))], PLAN).roles
        == ()
    )


def test_a_server_without_tools_or_schemas_is_noted(code: dict[str, str]) -> None:
    refuse = {
        "tools": error(
            400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
        ),
        "response_format": error(422, "response_format is not supported"),
    }
    report, _ = look(Model(code, refuse=refuse))
    assert any("takes no tool calls" in note for note in report.notes)
    assert any("takes no JSON schema" in note for note in report.notes)
    fails(Model(code, refuse=refuse), "does not take tool calls", actions="tools")
    fails(Model(code, refuse=refuse), "does not take a JSON schema", actions="json", structured=True)


def test_a_model_that_gets_images_and_cannot_read_is_noted(code: dict[str, str]) -> None:
    def illiterate(request: Request) -> Response:
        return completion("lorem", prompt_tokens=50 + 200 * request.images)

    report, _ = look(illiterate)
    assert report.roles[0].found.reads_images is False
    assert any("did not read the test page" in note for note in report.notes)


def test_samples_at_temperature_zero_are_noted(code: dict[str, str]) -> None:
    plan = RunPlan(questions=1, samples=4, protocol=PLAN.protocol)
    assert any("will be alike" in note for note in look(Model(code), plan)[0].notes)
    assert not any("will be alike" in note for note in look(Model(code), plan, temperature=1.0)[0].notes)


# -- what cannot work ------------------------------------------------------------------------------------------


def test_a_wrong_key(code: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-wrong")
    message = fails(
        lambda request: error(401, "Incorrect API key provided: sk-wrong"),
        "the key in MY_KEY",
        key_env="MY_KEY",
    )
    assert "sk-wrong" not in message


def test_a_missing_key_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MY_KEY", raising=False)
    fails(lambda request: error(401, "no"), "MY_KEY is not set", key_env="MY_KEY")


def test_a_wrong_path(code: dict[str, str]) -> None:
    with (
        StubServer(lambda request: error(404, "404 page not found")) as stub,
        pytest.raises(ConfigError, match=r"no chat model under .*usually ends in /v1"),
    ):
        preflight([("policy", RoleSpec.parse(f"openai:{MODEL}", base_url=stub.base_url[:-3]))], PLAN)


def test_nobody_there() -> None:
    with StubServer() as stub:
        url = stub.base_url
    with pytest.raises(ConfigError, match=r"did not answer .*check the base URL"):
        preflight([("policy", RoleSpec.parse(f"openai:{MODEL}", base_url=url))], PLAN)


def test_no_such_host() -> None:
    with pytest.raises(ConfigError, match=r"did not answer .*check the base URL"):
        preflight([("policy", RoleSpec.parse("openai:m", base_url="http://127.0.0.1:9/v1", timeout=5))], PLAN)


def test_an_unknown_model_and_the_names_that_there_are(code: dict[str, str]) -> None:
    unknown = {"always": error(404, "The model `stub-model` does not exist")}
    assert "it has stub-model, other-model." in fails(Model(code, refuse=unknown), f"has no model {MODEL}")


def test_a_model_that_refuses_images(code: dict[str, str]) -> None:
    refuse = {"images>0": error(400, "stub-model is not a multimodal model")}
    fails(Model(code, refuse=refuse), r'does not take images .*pages = "text"')
    assert look(Model(code, refuse=refuse), pages="text")[0].roles[0].found.reads_images is None


@pytest.mark.parametrize("counts", [True, False])
def test_a_server_that_drops_images(code: dict[str, str], counts: bool) -> None:
    fails(Model(code, sees=False, counts=counts), "does not see them.*choose a vision model")


def test_too_many_images(code: dict[str, str]) -> None:
    refuse = {"images>4": error(400, "At most 4 image(s) may be provided in one prompt.")}
    fails(Model(code, refuse=refuse), r"fewer images .*At most 4 .*images_kept")
    assert look(Model(code, refuse=refuse), images_kept=4)[0].roles[0].found.images == 4


def test_a_request_that_is_too_large(code: dict[str, str]) -> None:
    refuse = {"bytes>1000000": Response(413, b"<html>413 Request Entity Too Large</html>")}
    fails(Model(code, refuse=refuse), r"refuses requests of this size .*max_image_pixels")
    look(Model(code, refuse=refuse), max_image_side=700)


def test_a_context_that_is_too_short(code: dict[str, str]) -> None:
    message = fails(Model(code, context=5000), r"longest conversation .*context of 5,000.*longer context")
    fitting = re.search(r"images_kept = (\d+)", fails(Model(code, context=9000), "context of 9,000"))
    assert fitting is not None
    look(Model(code, context=9000), images_kept=int(fitting[1]))
    assert "max_image_pixels" in message


def test_an_overflow_that_only_the_server_knows_of(code: dict[str, str]) -> None:
    words = "This model's maximum context length is 100 tokens. However, you requested 200 tokens."
    fails(Model(code, refuse={"images>2": error(400, words)}), "does not fit the context")


def test_a_seed_that_is_refused(code: dict[str, str]) -> None:
    refuse = {"seed": error(400, 'Invalid JSON payload received. Unknown name "seed": Cannot find field.')}
    fails(Model(code, refuse=refuse), r"refuses the request .*seed.*send_seed = false")
    look(Model(code, refuse=refuse), send_seed=False)


def test_a_parameter_that_is_refused(code: dict[str, str]) -> None:
    refuse = {"top_p": error(400, "Unsupported parameter: 'top_p' is not supported with this model.")}
    fails(Model(code, refuse=refuse), r"refuses the request .*top_p", top_p=0.9)


# -- limits ----------------------------------------------------------------------------------------------------


@pytest.fixture
def prices(tmp_path: Path) -> str:
    path = tmp_path / "prices.toml"
    path.write_text(f'[models."{MODEL}"]\ninput = 2.5\noutput = 10.0\n')
    return str(path)


def test_a_run_above_a_limit_needs_a_yes(code: dict[str, str], prices: str) -> None:
    report, _ = look(Model(code), prices=prices)
    assert report.cost is not None
    load = report.roles[0].load
    assert report.cost == pytest.approx(
        ((report.tokens - load.completion_tokens) * 2.5 + load.completion_tokens * 10) / 1e6
    )
    check_consent(report, max_cost=report.cost + 0.01, max_tokens=report.tokens)
    asked: list[str] = []
    for limits in ({"max_cost": report.cost - 0.01}, {"max_tokens": report.tokens - 1}):
        with pytest.raises(ConfigError, match=r"Nothing was started; .*--yes"):
            check_consent(report, **limits)  # type: ignore[arg-type]
        with pytest.raises(ConfigError):
            check_consent(report, ask=lambda question: bool(asked.append(question)), **limits)  # type: ignore[arg-type]
        check_consent(report, ask=lambda question: True, **limits)  # type: ignore[arg-type]
        check_consent(report, yes=True, **limits)  # type: ignore[arg-type]
    assert [question.endswith("Go on?") for question in asked] == [True, True]


def test_somebody_elses_server_has_a_default_limit_and_ones_own_has_none(code: dict[str, str]) -> None:
    import msgspec

    report, _ = look(Model(code), RunPlan(questions=100_000, protocol=PLAN.protocol))
    check_consent(report)
    elsewhere = msgspec.structs.replace(report.roles[0], base_url="https://models.example/v1")
    with pytest.raises(ConfigError, match="a price that is not known"):
        check_consent(PreflightReport(roles=(elsewhere,)))
    dear = msgspec.structs.replace(elsewhere, cost=10.5)
    with pytest.raises(ConfigError, match=r"estimated to cost 10\.50, more than 10"):
        check_consent(PreflightReport(roles=(dear,)))


# -- estimates -------------------------------------------------------------------------------------------------


def test_looks_of_the_protocols() -> None:
    assert looks_of(PROTOCOLS["awm"]) == [0, *[3, 0] * 6, 3, 0, 0][: len(looks_of(PROTOCOLS["awm"]))]
    assert sum(looks_of(PROTOCOLS["alden"])) == 15
    assert looks_of(PROTOCOLS["alden"]) == [0, 3, 3, 3, 3, 3, 0]
    assert looks_of(named_protocol("alden", image_cap=7)) == [0, 3, 3, 1, 0, 0, 0]
    assert looks_of(PROTOCOLS["direct"]) == [0]


def load_of(plan: RunPlan = PLAN, role: Any = "policy", **options: Any) -> Any:
    made = ChatOptions.of(role, RoleSpec.parse("openai:m", base_url="http://127.0.0.1:1/v1", **options))
    return estimate(role, made, FAMILIES["patches-28"], plan)


def test_images_kept_and_smaller_images_bound_the_load() -> None:
    everything = load_of()
    assert everything.page_tokens == round(1224 / 28) * round(1584 / 28)
    assert load_of(images_kept=3).most_images == 3
    assert load_of(images_kept=3).largest < everything.largest
    assert load_of(max_image_pixels=862_400).page_tokens == pytest.approx(1100, rel=0.03)
    assert load_of(pages="text").image_tokens == 0


def test_direct_stays_in_its_budget() -> None:
    plan = RunPlan(questions=1, protocol=PROTOCOLS["direct"], pages=60)
    load = load_of(plan, image_token_budget=30_000)
    assert load.most_images == 60
    assert 25_000 <= load.image_tokens <= 30_500


def test_other_roles_are_short() -> None:
    plan = RunPlan(questions=10, samples=2, readers=3, protocol=PROTOCOLS["awm"])
    assert load_of(plan, "reader").calls == 20
    assert load_of(plan, "extractor").calls == 80
    assert load_of(RunPlan(questions=10, protocol=PROTOCOLS["rag"]), "judge").calls == 10


# -- canary ----------------------------------------------------------------------------------------------------


def test_a_canary_is_read_in_any_spelling() -> None:
    canary = Canary.draw(FAMILIES["patches-28"], random.Random(0))
    assert canary.read_in(
        f"The word is {canary.word.title()} and the number {canary.number[:1]} {canary.number[1:]}."
    )
    assert not canary.read_in(canary.word)
    assert not canary.read_in("")


def test_a_blank_page_is_heavy_and_still_a_picture() -> None:
    import base64

    page = blank_page(200_000, FAMILIES["patches-28"])
    data = base64.b64decode(page.json.split(b"base64,")[1].rstrip(b'"}'))
    assert 200_000 <= len(data) < 201_000
    with Image.open(io.BytesIO(data)) as opened:
        opened.load()
        assert opened.size == (64, 64)


# -- a configured run ------------------------------------------------------------------------------------------


def test_preflight_of_a_run_measures_its_documents_and_counts_what_is_left(
    code: dict[str, str], own_set: OwnSet, store: PageStore, tmp_path: Path
) -> None:
    import msgspec

    from looseleaf.runner.config import DataConfig, RunConfig, ScoreConfig
    from looseleaf.runner.execute import execute
    from looseleaf.runner.preflight import preflight_run

    with StubServer(Model(code)) as stub:
        chat = RoleSpec.parse(f"openai:{MODEL}", base_url=stub.base_url)
        config = RunConfig(
            data=DataConfig(benchmark=str(own_set.questions), path=str(own_set.docs)),
            policy=chat,
            protocol=named_protocol("direct"),
            samples=2,
        )
        report = preflight_run(config, ScoreConfig(readers=(chat, chat), extractor=chat), store=store)
        assert [role.role for role in report.roles] == ["policy", "reader", "reader", "extractor"]
        policy = report.roles[0]
        assert policy.load.most_images == 4, "the documents have four pages each"
        assert policy.load.calls == 2 * len(own_set.rows)
        assert (
            preflight_run(
                msgspec.structs.replace(config, policy=RoleSpec.parse("embedded")), store=store
            ).calls
            == 0
        )
        run = execute(msgspec.structs.replace(config, limit=3), tmp_path / "run", store=store).run
        rest = preflight_run(config, run=run, store=store)
        assert rest.calls == 2 * (len(own_set.rows) - 3)
