"""Words tell sets apart, and distinct ones are found."""

import numpy as np

from recourse_audit.model.shared_states import distinct, pair_word, word_of


def test_numbers_of_any_size_have_words_of_their_own() -> None:
    numbers = np.unique(np.concatenate((np.arange(40_000), 2 ** np.arange(15, 40))))
    words = word_of(numbers, 3)
    assert len(np.unique(words)) == len(numbers)
    assert not np.isin(words, word_of(numbers, 4)).any()


def test_a_word_does_not_depend_on_what_is_asked_beside_it() -> None:
    assert word_of(np.array([5]), 0)[0] == word_of(np.array([5, 2**20]), 0)[0]


def test_sums_of_words_of_pairs_tell_sets_apart() -> None:
    generator = np.random.default_rng(7)
    pairs = generator.integers(0, 6, (20_000, 3, 2))
    pairs[:, :, 0] += 6 * np.arange(3)  # one pair for each of three first numbers, as of arcs
    sums = pair_word(pairs[..., 0], pairs[..., 1], 1).sum(axis=1)
    sets = np.unique(pairs.reshape(len(pairs), -1), axis=0)
    assert len(np.unique(sums)) == len(sets)


def test_distinct_words_are_listed_once_with_who_has_which() -> None:
    numbers = np.random.default_rng(1).integers(0, 50, 1000)
    words = word_of(numbers, 9)
    chosen, number = distinct(words)
    assert len(chosen) == len(np.unique(numbers))
    assert np.array_equal(words[chosen][number], words)


def test_no_words_are_no_trouble() -> None:
    chosen, number = distinct(np.empty(0, np.uint64))
    assert len(chosen) == len(number) == 0
