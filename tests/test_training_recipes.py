"""The recipes' commands and files say the same about where servers are."""

from __future__ import annotations

from pathlib import Path

from looseleaf.training.config_file import load_config

RECIPE = Path(__file__).parents[1] / "recipes" / "qwen3-vl-4b"


def test_two_nodes_ask_every_server_on_the_node_that_serves() -> None:
    config = load_config(RECIPE / "awm.toml", RECIPE / "two-nodes" / "launch.toml")
    assert config.evaluation is not None
    roles = (
        config.roles.reader,
        config.roles.judge,
        *config.evaluation.readers,
        config.evaluation.extractor,
    )
    addresses = [str(role.options["base_url"]) for role in roles] + [config.retriever.spec]
    assert [address for address in addresses if "http://NODE_B:" not in address] == []
    assert config.train.vllm is not None
    assert config.train.vllm.host == "NODE_B"


def test_every_command_of_the_order_is_told_where_the_servers_are() -> None:
    text = (RECIPE / "README.md").read_text(encoding="utf-8")
    commands = [line for line in text.splitlines() if "looseleaf train" in line and "$R/" in line]
    assert len(commands) == 7
    assert [line for line in commands if ".toml $WITH" not in line] == []


def test_rollout_servers_take_no_data_parallelism() -> None:
    """It is an error for a dense model (trl 1.16, `trl/scripts/vllm_serve.py`)."""
    served = [
        line
        for page in RECIPE.rglob("README.md")
        for line in page.read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
        if "trl vllm-serve" in line
    ]
    assert len(served) == 3
    assert not any("--data-parallel-size" in line for line in served)
