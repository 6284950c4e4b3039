import pytest
import torch

from discreet import plugins
from discreet.nodes import failures as failures


@pytest.fixture(autouse=True)
def plugins_of_the_process(monkeypatch):
    """A host decides for its process which plugins there are; in a test that ends with the test."""
    monkeypatch.setattr(plugins, "_named", [])
    monkeypatch.setattr(plugins, "_installed_too", True)


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def said(monkeypatch):
    """What is said about nodes while sums are made."""
    lines = []
    monkeypatch.setattr(failures, "notice", lines.append)
    return lines
