"""Hub names: told from paths, and handed to ``datasets``."""

import sys
import types

import pytest

from eagle3_core.errors import UserError
from eagle3_core.samples import hub
from eagle3_core.samples.read import read


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mlabonne/open-perfectblend", True),
        ("HuggingFaceH4/ultrachat_200k:train_sft", True),
        ("data/set.json", False),
        ("data/set.jsonl.gz", False),
        ("/data/set", False),
        ("./data/set", False),
        ("a/b/c", False),
        ("set", False),
    ],
)
def test_is_name(text, expected):
    assert hub.is_name(text) is expected


def test_a_directory_of_that_name_is_read_as_such(tmp_path, monkeypatch, write):
    write("owner/name/part.jsonl", [{"prompt": "Q?"}])
    monkeypatch.chdir(tmp_path)
    assert read("owner/name").report.format == "JSON Lines"


def test_without_datasets_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(UserError, match=r"pip install 'eagle3-console\[hub\]', or download"):
        read("mlabonne/open-perfectblend")


@pytest.fixture
def datasets(monkeypatch):
    """A stand-in for the package, which needs the network: it notes how it is called."""
    module = types.ModuleType("datasets")
    module.calls = []

    def load_dataset(*args, **kwargs):
        module.calls.append((args, kwargs))
        if kwargs["split"] == "train_gen":
            raise ValueError("Unknown split\nsecond line")

        def stream():
            for number in range(1_000_000):
                module.pulled = number + 1
                yield {"prompt": f"Question {number}?"}

        return stream()

    module.load_dataset = load_dataset
    monkeypatch.setitem(sys.modules, "datasets", module)
    return module


def test_rows_are_streamed_up_to_the_limit(datasets):
    found = read("mlabonne/open-perfectblend", limit=5)
    assert datasets.calls == [
        (("mlabonne/open-perfectblend",), {"split": "train", "streaming": True})
    ]
    assert [s.messages[0]["content"] for s in found.samples][4] == "Question 4?"
    assert datasets.pulled == 5
    assert found.report.format == "hub data set"


def test_another_split_is_named_after_a_colon(datasets):
    read("HuggingFaceH4/ultrachat_200k:train_sft", limit=1)
    assert datasets.calls[0] == (
        ("HuggingFaceH4/ultrachat_200k",),
        {"split": "train_sft", "streaming": True},
    )


def test_an_error_of_the_hub_is_one_line(datasets):
    with pytest.raises(UserError) as caught:
        read("owner/name:train_gen")
    assert "owner/name:train_gen is no file here, and cannot be read" in str(caught.value)
    assert "ValueError: Unknown split" in str(caught.value)
    assert "\n" not in str(caught.value)
