import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InputError
from discreet.text import encode
from discreet.text import frozen_language_model as language_model
from discreet.text import vector_cache as cache
from discreet.text.encode import encode_texts
from discreet.text.frozen_language_model import LanguageModel, installed_language_model
from discreet.text.hashed import hashed_vectors
from discreet.text.vector_cache import cache_folder, cached_vectors

TITLES = ["Storm hits the coast", "Coast hit by a storm", "Team wins the final", "", "  "]

needs_language_model = pytest.mark.skipif(
    installed_language_model() is None, reason="the packages of the extra `lm` are not installed"
)


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("DISCREET_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("DISCREET_WORD_VECTORS", raising=False)
    return tmp_path / "cache"


@pytest.fixture
def notices(monkeypatch):
    said = []
    monkeypatch.setattr(encode, "notice_once", said.append)
    monkeypatch.setattr(cache, "notice", said.append)
    return said


@pytest.fixture
def no_language_model(monkeypatch):
    monkeypatch.setattr(encode, "installed_language_model", lambda: None)


def fake_encoder(calls):
    def run(texts):
        calls.append(list(texts))
        return np.array([[len(text), 1.0] for text in texts], dtype=np.float32)

    return run


def test_hashed_words_are_unit_rows_and_near_for_shared_words():
    rows = hashed_vectors(TITLES)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), [1, 1, 1, 0, 0], atol=1e-6)
    assert rows[0] @ rows[1] > rows[0] @ rows[2]


def test_hashed_words_are_the_same_everywhere():
    # BLAKE2b of "storm" read as a little-endian number: its lowest bit is the sign, the rest modulo 512 the place.
    program = "from discreet.text.hashed import hashed_vectors as h; v = h(['storm'])[0]; print(v.argmax(), v.argmin())"
    found = [
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    ]
    row = hashed_vectors(["storm"])[0]
    assert found == [f"{row.argmax()} {row.argmin()}\n"] * 2


def test_rare_words_weigh_more_than_common_ones():
    rows = hashed_vectors(["the storm", "the match", "the storm match", "the", "the x", "the y", "storm"])
    common, rare = rows[3] @ rows[0], rows[6] @ rows[0]
    assert rare > common


@settings(max_examples=30, deadline=None)
@given(st.lists(st.text(max_size=30), max_size=8))
def test_hashed_rows_have_length_one_or_zero(texts):
    norms = np.linalg.norm(hashed_vectors(texts), axis=1)
    assert np.all((np.abs(norms - 1) < 1e-5) | (norms == 0))


def test_cache_encodes_only_what_is_new(own_cache):
    calls = []
    first = cached_vectors(["a", "bb", "a"], "model", 2, fake_encoder(calls))
    second = cached_vectors(["ccc", "bb"], "model", 2, fake_encoder(calls))
    assert first.tolist() == [[1, 1], [2, 1], [1, 1]]
    assert second.tolist() == [[3, 1], [2, 1]]
    assert calls == [["a", "bb"], ["ccc"]]
    assert cached_vectors([], "model", 2, fake_encoder(calls)).shape == (0, 2)
    cached_vectors(["a"], "other model", 2, fake_encoder(calls))
    assert calls[2:] == [["a"]]


def test_an_interruption_keeps_what_was_done(monkeypatch):
    monkeypatch.setattr(cache, "_TEXTS_PER_FILE", 2)
    calls = []

    def interrupted(texts):
        if len(calls) == 2:
            raise KeyboardInterrupt
        return fake_encoder(calls)(texts)

    texts = ["a", "b", "c", "d", "e"]
    with pytest.raises(KeyboardInterrupt):
        cached_vectors(texts, "model", 2, interrupted)
    calls.clear()
    cached_vectors(texts, "model", 2, fake_encoder(calls))
    assert calls == [["e"]]


def test_many_small_files_are_joined(own_cache):
    calls = []
    texts = [f"{i}" * (i + 1) for i in range(40)]
    for text in texts:
        cached_vectors([text], "model", 2, fake_encoder(calls))
    assert len(list((own_cache / "text" / "model").iterdir())) < 17
    calls.clear()
    again = cached_vectors(texts, "model", 2, fake_encoder(calls))
    assert calls == []
    assert again[:, 0].tolist() == [len(text) for text in texts]


@pytest.mark.parametrize("damage", [b"", b"noise", None])
def test_a_damaged_cache_is_computed_again_with_a_notice(own_cache, notices, damage):
    calls = []
    texts = ["a", "bb"]
    right = cached_vectors(texts, "model", 2, fake_encoder(calls))
    (path,) = (own_cache / "text" / "model").glob("*.npz")
    if damage is None:
        content = bytearray(path.read_bytes())
        content[content.index(right.tobytes())] ^= 0xFF
        damage = bytes(content)
    path.write_bytes(damage)
    again = cached_vectors(texts, "model", 2, fake_encoder(calls))
    assert again.tolist() == right.tolist()
    assert len(notices) == 1
    assert "damaged" in notices[0]
    calls.clear()
    cached_vectors(texts, "model", 2, fake_encoder(calls))
    assert calls == []


def test_vectors_of_another_length_are_not_believed(notices):
    calls = []
    cached_vectors(["a"], "model", 2, fake_encoder(calls))
    wide = cached_vectors(["a"], "model", 3, lambda texts: np.ones((len(texts), 3), dtype=np.float32))
    assert wide.tolist() == [[1, 1, 1]]
    assert "damaged" in notices[0]


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path, monkeypatch, notices):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("DISCREET_CACHE", str(tmp_path / "file"))
    assert cached_vectors(["a"], "model", 2, fake_encoder([])).tolist() == [[1, 1]]
    assert "cannot be kept" in notices[0]


def test_where_the_cache_is(tmp_path, monkeypatch):
    monkeypatch.setenv("DISCREET_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv("DISCREET_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "discreet"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_folder() == tmp_path / "home" / ".cache" / "discreet"


def test_falls_back_to_word_vectors_then_to_hashed_words(tmp_path, monkeypatch, notices, no_language_model):
    hashed = encode_texts(TITLES)
    assert hashed.source.startswith("hashed words")
    assert hashed.matrix.tolist() == hashed_vectors(TITLES).tolist()
    assert "no language model" in notices[0]

    glove = tmp_path / "small.txt"
    glove.write_text("storm 1 0\ncoast 0 1\n", encoding="utf-8")
    monkeypatch.setenv("DISCREET_WORD_VECTORS", str(glove))
    words = encode_texts(TITLES)
    assert "small.txt" in words.source
    np.testing.assert_allclose(words.matrix[:2], np.full((2, 2), np.sqrt(0.5)), rtol=1e-6)
    assert not words.matrix[2:].any()
    assert notices[-1] == f"titles as vectors: {words.source}"

    monkeypatch.setenv("DISCREET_WORD_VECTORS", str(tmp_path / "absent.txt"))
    with pytest.raises(InputError, match="no such file"):
        encode_texts(TITLES)


def test_a_source_can_be_named(tmp_path, notices):
    assert encode_texts(TITLES, "hashed").source.startswith("hashed words")
    glove = tmp_path / "small.txt"
    glove.write_text("storm 1 0\n", encoding="utf-8")
    assert encode_texts(TITLES, glove).matrix.shape == (5, 2)
    assert notices == [
        "titles as vectors: hashed words, 512 dimensions",
        "titles as vectors: mean word vectors of small.txt, 2 dimensions",
    ]


def test_a_folder_without_a_language_model_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"config\.json"):
        encode_texts(TITLES, tmp_path)
    with pytest.raises(InputError, match="no such file"):
        encode_texts(TITLES, tmp_path / "absent")
    (tmp_path / "config.json").write_text("{", encoding="utf-8")
    (tmp_path / "model.safetensors").write_bytes(b"")
    with pytest.raises(InputError, match="not JSON"):
        encode_texts(TITLES, tmp_path)


@needs_language_model
def test_a_damaged_language_model_is_one_clear_line(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert", "hidden_size": 8}), encoding="utf-8")
    (tmp_path / "model.safetensors").write_bytes(b"nothing")
    with pytest.raises(InputError, match="cannot be loaded") as caught:
        encode_texts(TITLES, tmp_path)
    assert "\n" not in str(caught.value)


def test_absent_packages_mean_no_language_model(monkeypatch):
    find = language_model.importlib.util.find_spec
    for absent in ("transformers", "torch", language_model.PACKAGE):
        with monkeypatch.context() as patch:
            patch.setattr(
                language_model.importlib.util,
                "find_spec",
                lambda name, gone=absent: None if name == gone else find(name),
            )
            assert installed_language_model() is None


@needs_language_model
@pytest.mark.parametrize("changed", ["model.safetensors", "tokenizer.json", "config.json"])
def test_a_packaged_language_model_with_other_content_is_refused(tmp_path, monkeypatch, changed):
    from discreet.models.language_model import TrainableLanguageModel

    for name in language_model.PACKAGED_FILES:
        (tmp_path / name).symlink_to(installed_language_model() / name)
    content = bytearray((tmp_path / changed).read_bytes())
    content[-2] ^= 1
    (tmp_path / changed).unlink()
    (tmp_path / changed).write_bytes(content)
    for module in ("text.encode", "text.frozen_language_model", "models.language_model"):
        monkeypatch.setattr(f"discreet.{module}.installed_language_model", lambda: tmp_path)
    for use in (lambda: encode_texts(TITLES), lambda: TrainableLanguageModel("", 1)):
        with pytest.raises(InputError, match=rf"{changed}: is not the examined file"):
            use()


def test_importing_is_light():
    program = "import sys, discreet.text.encode; print([m for m in ('torch', 'transformers') if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


@needs_language_model
def test_language_model_understands_titles_and_does_not_depend_on_the_batch(monkeypatch, notices):
    long = "a very long title " * 100
    texts = [*TITLES, long]
    found = encode_texts(texts)
    assert found.source == "language model all-MiniLM-L6-v2, 384 dimensions"
    assert notices == [f"titles as vectors: {found.source}"]
    np.testing.assert_allclose(np.linalg.norm(found.matrix, axis=1), [1, 1, 1, 0, 0, 1], atol=1e-5)
    assert found.matrix[0] @ found.matrix[1] > 0.7 > 0.4 > found.matrix[0] @ found.matrix[2]
    model = LanguageModel(installed_language_model())
    monkeypatch.setattr(language_model, "_TOKENS_PER_BATCH", 1)
    np.testing.assert_allclose(model.encode([long, TITLES[0]]), found.matrix[[5, 0]], atol=1e-5)
    assert model.encode([]).shape == (0, 384)


@needs_language_model
def test_language_model_leaves_the_callers_threads_alone():
    import torch

    before = torch.get_num_threads()
    LanguageModel(installed_language_model()).encode(["one"])
    assert torch.get_num_threads() == before


@needs_language_model
def test_language_model_equals_sentence_transformers():
    library = pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
    folder = installed_language_model()
    texts = [*TITLES[:3], "Δ δ!", "word " * 300]
    theirs = library.SentenceTransformer(str(folder), device="cpu", local_files_only=True).encode(texts)
    np.testing.assert_allclose(LanguageModel(folder).encode(texts), theirs, atol=2e-6)


def test_the_fingerprint_follows_the_content(tmp_path):
    def folder(name, weights, config='{"hidden_size": 4}'):
        path = tmp_path / name
        path.mkdir()
        (path / "config.json").write_text(config, encoding="utf-8")
        (path / "model.safetensors").write_bytes(weights)
        return LanguageModel(path).fingerprint

    same = folder("a", b"1")
    assert folder("b", b"1") == same
    assert folder("c", b"2") != same
    assert folder("d", b"1", '{"hidden_size": 5}') != same
