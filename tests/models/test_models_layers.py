"""Layers against their written-out definitions and PyTorch's own."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.models import word_convolution
from discreet.models.layers import AttentionPooling, SelfAttention, WordEmbedding
from discreet.models.recurrent import RecentGRU
from discreet.models.word_convolution import WordConvolution

COPIES = st.lists(st.integers(0, 5), min_size=1, max_size=6).filter(any)


@given(copies=COPIES, seed=st.integers(0, 1000))
@settings(max_examples=30, deadline=None)
def test_copies_count_as_repetition(copies: list[int], seed: int):
    torch.manual_seed(seed)
    inputs = torch.randn(1, len(copies), 6, dtype=torch.float64)
    times = torch.tensor(copies)
    written_out = inputs.repeat_interleave(times, dim=1)
    once = torch.ones(1, written_out.shape[1], dtype=torch.float64)
    attention, pooling = SelfAttention(6, 8, heads=2).double(), AttentionPooling(6, 5).double()
    recurrent = RecentGRU(6, 4, recent=7).double()
    torch.testing.assert_close(
        attention(inputs, times[None]).repeat_interleave(times, dim=1), attention(written_out, once)
    )
    torch.testing.assert_close(pooling(inputs, times[None]), pooling(written_out, once))
    torch.testing.assert_close(recurrent(inputs, times[None]), recurrent(written_out, once.long()))


def test_a_position_without_copies_has_no_influence_and_no_gradient():
    torch.manual_seed(0)
    inputs = torch.randn(2, 4, 6, requires_grad=True)
    copies = torch.tensor([[0, 1, 2, 0], [3, 0, 1, 1]])
    for layer in (SelfAttention(6, 8, heads=2), AttentionPooling(6, 5), RecentGRU(6, 4, recent=7)):
        result = layer(inputs, copies)
        if result.dim() == 3:
            result = result[copies > 0]
        (gradient,) = torch.autograd.grad(result.square().sum(), inputs)
        assert not gradient[copies == 0].any()
        assert gradient[copies > 0].any(-1).all()


def test_self_attention_is_that_of_pytorch_without_its_output_projection():
    torch.manual_seed(1)
    ours = SelfAttention(12, 12, heads=3).double()
    theirs = torch.nn.MultiheadAttention(12, 3, bias=False, batch_first=True).double()
    with torch.no_grad():
        theirs.in_proj_weight.copy_(ours.weight.flatten(1).T)
        theirs.out_proj.weight.copy_(torch.eye(12))
    inputs = torch.randn(4, 5, 12, dtype=torch.float64)
    expected, _ = theirs(inputs, inputs, inputs)
    torch.testing.assert_close(ours(inputs, torch.ones(4, 5)), expected)


def test_pooling_is_the_written_formula():
    torch.manual_seed(2)
    pooling = AttentionPooling(3, 4)
    inputs = torch.randn(1, 2, 3)
    logits = [
        sum(
            pooling.query[i] * torch.tanh(pooling.project.weight[i] @ inputs[0, j] + pooling.project.bias[i])
            for i in range(4)
        )
        for j in range(2)
    ]
    weights = torch.softmax(torch.stack(logits) + torch.tensor([math.log(3), 0.0]), 0)
    torch.testing.assert_close(pooling(inputs, torch.tensor([[3, 1]]))[0], weights @ inputs[0])


def test_gru_is_that_of_pytorch_over_the_recent_clicks():
    torch.manual_seed(3)
    ours = RecentGRU(5, 4, recent=6).double()
    theirs = torch.nn.GRU(5, 4, batch_first=True).double()
    with torch.no_grad():
        theirs.weight_ih_l0.copy_(ours.from_input.weight)
        theirs.weight_hh_l0.copy_(ours.from_state.weight)
        theirs.bias_ih_l0.copy_(ours.from_input.bias.normal_())
        theirs.bias_hh_l0.copy_(ours.from_state.bias.normal_())
    clicks = torch.randn(3, 9, 5, dtype=torch.float64)
    torch.testing.assert_close(ours(clicks, torch.ones(3, 9, dtype=torch.int64)), theirs(clicks[:, -6:])[1][0])
    few = clicks[:, :4].clone().requires_grad_()
    found, expected = ours(few, torch.ones(3, 4, dtype=torch.int64)), theirs(few)[1][0]
    torch.testing.assert_close(found, expected)
    names = ("weight_ih_l0", "bias_ih_l0", "weight_hh_l0", "bias_hh_l0")
    own = [ours.from_input.weight, ours.from_input.bias, ours.from_state.weight, ours.from_state.bias]
    gradients = torch.autograd.grad(found.square().sum(), [few, *own])
    wanted = torch.autograd.grad(expected.square().sum(), [few, *(getattr(theirs, name) for name in names)])
    for one, other in zip(gradients, wanted, strict=True):
        torch.testing.assert_close(one, other)


def test_convolution_is_that_of_pytorch_with_zeros_at_the_borders():
    torch.manual_seed(4)
    ours = WordConvolution(5, 7).double()
    inputs = torch.randn(3, 6, 5, dtype=torch.float64)
    with torch.no_grad():
        ours.bias.normal_()
    convolved = torch.nn.functional.conv1d(inputs.transpose(1, 2), ours.weight.permute(2, 1, 0), ours.bias, padding=1)
    torch.testing.assert_close(ours(inputs), convolved.transpose(1, 2).relu())


@pytest.mark.parametrize("trained", [True, False])
def test_convolution_of_words_is_that_of_their_vectors(trained: bool):
    torch.manual_seed(5)
    table, convolution = WordEmbedding(6, 4, trained=trained).double(), WordConvolution(4, 7).double()
    with torch.no_grad():
        table.padding.normal_()
        convolution.bias.normal_()
    words = torch.tensor([[2, 0, 3, 5], [0, 1, 0, 0]])
    parameters = [*table.parameters(), *convolution.parameters()]
    found, expected = convolution.of_words(table, words), convolution(table(words))
    torch.testing.assert_close(found, expected)
    gradients, wanted = (torch.autograd.grad(each.square().sum(), parameters) for each in (found, expected))
    for one, other in zip(gradients, wanted, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("trained", [True, False])
@pytest.mark.parametrize("share", [0.0, 1.0])
def test_convolution_of_texts_is_that_of_each(monkeypatch: pytest.MonkeyPatch, trained: bool, share: float):
    monkeypatch.setattr(word_convolution, "REPEATED", share)  # never by word, always by word
    torch.manual_seed(5)
    table, convolution = WordEmbedding(6, 4, trained=trained).double(), WordConvolution(4, 7).double()
    with torch.no_grad():
        table.padding.normal_()
        convolution.bias.normal_()
    texts = [torch.tensor([[2, 0, 3, 5], [0, 1, 0, 0]]), torch.tensor([[5], [2], [5]]), torch.tensor([[2, 3, 2, 3, 2]])]
    parameters = [*table.parameters(), *convolution.parameters()]
    found, expected = convolution.of_texts(table, texts), [convolution(table(text)) for text in texts]
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)
    gradients, wanted = (
        torch.autograd.grad(sum(each.square().sum() for each in several), parameters) for several in (found, expected)
    )
    for one, other in zip(gradients, wanted, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("trained", [True, False])
def test_padding_is_learnt_and_words_only_on_request(trained: bool):
    embedding = WordEmbedding(4, 3, trained=trained)
    embedding.fill(torch.arange(12.0).reshape(4, 3).numpy())
    words = torch.tensor([[2, 0]])
    torch.testing.assert_close(embedding(words)[0], torch.tensor([[6.0, 7, 8], [0, 0, 0]]))
    embedding(words).sum().backward()
    assert embedding.padding.grad is not None
    assert torch.equal(embedding.padding.grad, torch.ones(3))
    assert ("vectors" in dict(embedding.named_parameters())) == trained


def test_word_vectors_of_another_shape_are_refused():
    with pytest.raises(ValueError, match="do not fit"):
        WordEmbedding(4, 3, trained=False).fill(torch.zeros(4, 2).numpy())
