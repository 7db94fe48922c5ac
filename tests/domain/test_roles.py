"""What a rater is, by its name."""

from __future__ import annotations

import pytest

from recjudge_tui.domain.roles import kind_by_name


@pytest.mark.parametrize(
    "name",
    [
        "gpt-4o-mini", "GPT4", "chatgpt", "claude", "claude-3-5-sonnet", "meta-llama/Llama-3.1-8B", "Qwen2.5-7B", "mistral",
        "gemini-1.5-pro", "deepseek-r1", "DeepSeekV3", "o1-mini", "openai/o3-mini", "gemma2:9b", "phi-3", "falcon 40b",
        "llm", "LLM judge 1", "llm_judge", "judge", "judge-2", "my model", "AI", "gpt-4 as user", "gpt4 (human prompt)",
    ],
)  # fmt: skip
def test_names_of_models(name: str) -> None:
    assert kind_by_name(name) == "judge"


@pytest.mark.parametrize(
    "name",
    [
        "anna", "Annotator 1", "worker A12", "o1", "judy", "Claudette", "gemma", "Phi Nguyen", "Ernie", "human judge 3",
        "expert-judge", "judge (person)", "Abigail", "lama", "42", "", "  ", "評価者", "User", "anna@example.org",
    ],
)  # fmt: skip
def test_names_of_people(name: str) -> None:
    assert kind_by_name(name) == "annotator"
    assert (kind_by_name("user"), kind_by_name("ground_truth")) == ("ground_truth", "ground_truth")
