import gzip
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InputError
from discreet.text.word_vectors import WordVectors, read_word_vectors, words_in
from discreet.text.words import Vocabulary, tokenise, words_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Trump’s win", ["trump", "'s", "win"]),
        ("They don't, can't and WON'T", ["they", "do", "n't", "ca", "n't", "and", "wo", "n't"]),
        ("We'll; you're - they've; I'd, I'm", ["we", "'ll", "you", "'re", "they", "'ve", "i", "'d", "i", "'m"]),
        ("O'Brien's well-known 5-year plan", ["o'brien", "'s", "well-known", "5-year", "plan"]),
        ("U.S. pays $1,000.50 (3.5%) at 10:30", ["u.s.", "pays", "1,000.50", "3.5", "at", "10:30"]),
        ("Is it over? It is over.", ["is", "it", "over", "it", "is", "over"]),
        ("the '90s: rock 'n' roll", ["the", "90s", "rock", "n", "roll"]),
        ("Café Zürich 東京", ["café", "zürich", "東京"]),
        ("snake_case -- dash—dash", ["snake", "case", "dash", "dash"]),
        ("", []),
        (" \t…!?", []),
    ],
)
def test_titles_are_cut_as_glove_cuts(text, words):
    assert words_of(text) == words


@given(st.text())
def test_any_text_gives_lower_case_words_without_spaces(text):
    for word in words_of(text):
        assert word
        assert not any(character.isspace() for character in word)
        assert word == word.lower()


def test_vocabulary_orders_by_frequency_then_alphabet():
    vocabulary = Vocabulary.of(["b a c", "b a", "b d"])
    assert list(vocabulary.words) == ["b", "a", "c", "d"]
    assert dict(vocabulary.number_of) == {"b": 2, "a": 3, "c": 4, "d": 5}
    assert len(vocabulary) == 6
    assert list(Vocabulary.of(["b a c", "b a"], min_count=2).words) == ["a", "b"]


def test_tokenise_pads_cuts_and_marks_unknown_words():
    vocabulary = Vocabulary(["one", "two", "well-known"])
    rows = tokenise(["One two three", "", "two two two two two", "well-known two-one two-x"], vocabulary, max_words=4)
    assert rows.dtype == np.int32
    assert rows.tolist() == [[2, 3, 1, 0], [0, 0, 0, 0], [3, 3, 3, 3], [4, 3, 2, 3]]


GLOVE = "the 0.5 -1 2\nof 1e-1 0 0\n. . . 1 1 1\n"


@pytest.fixture
def glove(tmp_path):
    path = tmp_path / "glove.3d.txt"
    path.write_text(GLOVE, encoding="utf-8")
    return path


def check(vectors):
    assert list(vectors.words) == ["the", "of", ". . ."]
    assert vectors.matrix.dtype == np.float32
    np.testing.assert_allclose(vectors.matrix, [[0.5, -1, 2], [0.1, 0, 0], [1, 1, 1]])


def test_glove_text_plain_gzipped_and_zipped(glove, tmp_path):
    check(read_word_vectors(glove))
    packed = tmp_path / "glove.txt.gz"
    packed.write_bytes(gzip.compress(GLOVE.encode()))
    check(read_word_vectors(packed))
    archive = tmp_path / "one.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("glove.3d.txt", GLOVE)
    check(read_word_vectors(archive))
    with zipfile.ZipFile(archive, "a") as file:
        file.writestr("glove.1d.txt", "the 1\n")
    check(read_word_vectors(archive / "glove.3d.txt"))
    with pytest.raises(InputError, match=r"glove\.3d\.txt, glove\.1d\.txt: name the one to read"):
        read_word_vectors(archive)
    with pytest.raises(InputError, match="no member nothing"):
        read_word_vectors(archive / "nothing.txt")


def test_a_first_line_with_counts_is_passed_over(tmp_path):
    path = tmp_path / "fast.vec"
    path.write_text("3 3\n" + GLOVE, encoding="utf-8")
    check(read_word_vectors(path))


def test_only_the_words_asked_for_are_kept(glove):
    assert list(read_word_vectors(glove, only={"of", "absent"}).words) == ["of"]
    assert read_word_vectors(glove, only=set()).matrix.shape == (0, 3)


@pytest.mark.parametrize(
    ("content", "line", "problem"),
    [
        (b"the 1 2\nof 1\n", 2, "expected a word and 2 figures"),
        (b"the 1 2\nof 1 x\n", 2, "not a figure: b?'x'"),
        (b"the 1 2\nof 1 nan\n", 2, "finite"),
        (b"the 1 2\n\xff\xfe 1 2\n", 2, "not UTF-8"),
        (b"the 1 2\n\nof 1 2\n", 2, "expected a word"),
        (b"the\n", 1, "expected a word"),
        (b"", None, "no word vectors"),
    ],
)
def test_bad_text_files_are_named_with_the_line(tmp_path, content, line, problem):
    path = tmp_path / "bad.txt"
    path.write_bytes(content)
    with pytest.raises(InputError, match=problem) as caught:
        read_word_vectors(path)
    assert caught.value.line == line


def test_missing_and_damaged_files_are_input_errors(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_word_vectors(tmp_path / "absent.txt")
    cut = tmp_path / "cut.txt.gz"
    cut.write_bytes(gzip.compress(GLOVE.encode() * 100)[:-20])
    with pytest.raises(InputError, match="cannot be read"):
        read_word_vectors(cut)
    for name in ("noise.npz", "noise.zip", "noise.gz"):
        (tmp_path / name).write_bytes(b"not an archive")
        with pytest.raises(InputError):
            read_word_vectors(tmp_path / name)


def save(path, words, vectors, **more):
    np.savez(path, words_utf8=np.frombuffer("\n".join(words).encode(), dtype=np.uint8), vectors=vectors, **more)
    return path


def test_npz_with_and_without_rows(tmp_path):
    vectors = np.array([[1, 2], [3, 4]], dtype=np.float16)
    plain = read_word_vectors(save(tmp_path / "a.npz", ["é", "b"], vectors))
    assert list(plain.words) == ["é", "b"]
    assert plain.matrix.tolist() == [[1, 2], [3, 4]]
    shared = read_word_vectors(
        save(tmp_path / "b.npz", ["x", "y", "z"], vectors, rows=np.array([1, 0, 1], dtype=np.uint16)), only={"y", "z"}
    )
    assert list(shared.words) == ["y", "z"]
    assert shared.matrix.tolist() == [[1, 2], [3, 4]]


def test_npz_that_does_not_fit_is_refused(tmp_path):
    vectors = np.ones((2, 2), dtype=np.float32)
    with pytest.raises(InputError, match="do not fit"):
        read_word_vectors(save(tmp_path / "a.npz", ["x", "y", "z"], vectors))
    with pytest.raises(InputError, match="do not fit"):
        read_word_vectors(save(tmp_path / "b.npz", ["x", "y"], vectors, rows=np.array([0, 2])))
    with pytest.raises(InputError, match="not finite"):
        read_word_vectors(save(tmp_path / "c.npz", ["x", "y"], vectors * np.nan))
    np.savez(tmp_path / "d.npz", other=vectors)
    with pytest.raises(InputError, match="words_utf8"):
        read_word_vectors(tmp_path / "d.npz")


def test_a_table_for_a_models_vocabulary():
    vectors = WordVectors(["a", "b"], np.array([[1, 2], [3, 4]], dtype=np.float32))
    table = vectors.for_vocabulary(Vocabulary(["b", "unheard", "a"]))
    assert table.tolist() == [[0, 0], [0, 0], [3, 4], [0, 0], [1, 2]]


def test_texts_are_centred_mean_word_vectors_at_unit_length():
    vectors = WordVectors(["a", "b"], np.array([[3, 0], [0, 4]], dtype=np.float32))
    encoded = vectors.encode(["a unheard", "unheard", "", "b-a x"])
    # Means (3, 0) and (1.5, 2); a third of their sum, (1.5, 2/3), is taken off.
    expected = np.array([[1.5, -2 / 3], [0, 0], [0, 0], [0, 4 / 3]])
    expected[[0, 3]] /= np.linalg.norm(expected[[0, 3]], axis=1, keepdims=True)
    np.testing.assert_allclose(encoded, expected, rtol=1e-5, atol=1e-7)
    assert vectors.encode([]).shape == (0, 2)


def test_a_lone_text_keeps_its_direction():
    vectors = WordVectors(["a", "b"], np.array([[3, 0], [0, 4]], dtype=np.float32))
    np.testing.assert_allclose(vectors.encode(["a b"]), [[0.6, 0.8]], rtol=1e-6)


def test_what_all_texts_share_does_not_make_them_alike():
    rng = np.random.default_rng(0)
    vectors = WordVectors(list("abcdefgh"), (10 + rng.normal(size=(8, 50))).astype(np.float32))
    encoded = vectors.encode(list("abcdefgh"))
    assert np.abs(encoded @ encoded.T - np.eye(8)).max() < 0.9


def test_words_in_names_the_parts_of_hyphenated_words():
    assert words_in(["A well-known"]) == {"a", "well-known", "well", "known"}
