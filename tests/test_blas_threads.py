"""BLAS has one thread where only small matrices are multiplied."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from discreet.blas_threads import one_blas_thread
from discreet.data.synthetic import news_world
from discreet.methods.front_page import click_rates, history_features
from discreet.methods.front_page.front_page import FrontPage
from discreet.methods.method import TrainingTask


def blas_threads():
    found = {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}
    assert found, "numpy's BLAS is found"
    return found


def test_numpy_has_one_thread_in_the_block_and_afterwards_as_many_as_before():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with one_blas_thread():
            np.ones((64, 64)) @ np.ones((64, 64))
            assert blas_threads() == {1}
        assert blas_threads() == before


@pytest.mark.parametrize("part", [(click_rates.np.linalg, "solve"), (history_features, "reader_features")])
def test_a_window_and_a_ranking_take_one_thread(monkeypatch, part):
    where, name = part
    does, seen = getattr(where, name), set()

    def watched(*given):
        seen.update(blas_threads())
        return does(*given)

    monkeypatch.setattr(where, name, watched)
    data = news_world(200, seed=3)
    with threadpool_limits(2, user_api="blas"):
        task, method = TrainingTask(data, "hashed"), FrontPage(epsilon=10, head_share=0)
        method.score(task, method.train(task, 0), data.splits["dev"], 0)
    assert seen == {1}
