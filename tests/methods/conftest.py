"""One thread for small models, since more only wait for each other; and a small world on disk, for nodes to open."""

import pytest
import torch

from discreet.data.open import open_news
from discreet.data.synthetic import news_world, write_mind
from discreet.methods.base import Task


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nodes") / "world"
    write_mind(news_world(120, seed=9), folder)
    return folder


@pytest.fixture(scope="session")
def task(world):
    return Task(open_news(world), "hashed")
