"""A budget for life: the smaller of two noises, at no more than the promised ε, however many days there were."""

import math
from dataclasses import replace

import numpy as np
import pytest

import discreet as d
from discreet.aggregation.task import NoiseKind
from discreet.audits.front_page import audited_log
from discreet.data.news import NewsData
from discreet.data.synthetic import news_world
from discreet.edge.reader.sums import Floors
from discreet.edge.reader.sums.contribution_ledger import ledger_in_memory
from discreet.methods.front_page.daily_budget import DailyBudget
from discreet.methods.front_page.day_price import DayPrice
from discreet.methods.front_page.windows import (
    DAY,
    Log,
    count_likelihood,
    daily_exposure,
    min_exposure,
    noise_scale,
    popularity_task,
    released_windows,
)
from discreet.methods.method import TrainingTask
from discreet.privacy import accounting
from discreet.privacy.accounting.zcdp import gaussian_rho, zcdp_epsilon
from discreet.privacy.guarantee import Scope

HOUR = 3600


def budget(days, epsilon=1.0, delta=1e-6, head=0.0, weights=0.0):
    return DailyBudget(epsilon, delta, days, head=head, weights=weights)


@pytest.fixture(scope="module")
def task():
    return TrainingTask(news_world(400, seed=3), "hashed")


@pytest.mark.parametrize(
    ("days", "clicks", "noise"),
    [
        (0, 10, NoiseKind.LAPLACE),
        (6, 1, NoiseKind.LAPLACE),
        (6, 4, NoiseKind.GAUSSIAN),
        (30, 1, NoiseKind.GAUSSIAN),
        (365, 1, NoiseKind.GAUSSIAN),
    ],
)
def test_popularity_has_the_smaller_noise(days, clicks, noise):
    chosen = budget(days).popularity_price(clicks)
    assert chosen.noise is noise
    assert min_exposure(chosen, clicks) == min(
        min_exposure(price, clicks) for price in budget(days).popularity_prices()
    )
    assert (chosen.delta > 0) == (noise is NoiseKind.GAUSSIAN)


def test_gaussian_noise_grows_with_the_root_of_the_clicks_and_of_the_days():
    month = budget(30).popularity_price(1)
    assert noise_scale(month, 9) == pytest.approx(3 * noise_scale(month))
    year = budget(3000).popularity_price(1)
    assert noise_scale(year) == pytest.approx(10 * noise_scale(month), rel=1e-6)


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 10.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.05])
@pytest.mark.parametrize("weights", [0.0, 0.1, 0.6])
@pytest.mark.parametrize("days", [1, 7, 30, 365])
def test_the_days_of_a_life_cost_no_more_than_the_budget(epsilon, delta, weights, days):
    """By the ρ of the noise that the task really has, with that of the weights; not by the code that chose it."""
    life = budget(days, epsilon, delta, weights=weights)
    for price in life.popularity_prices()[1:]:
        for clicks in (1, 3):
            terms = popularity_task(900, price, clicks, length=50)
            rho = clicks / (2 * float(terms.noise_scale) ** 2) + life.weights_epsilon() ** 2 / 2
            assert zcdp_epsilon(days * rho, delta) <= epsilon
            assert zcdp_epsilon(days * rho, delta) >= 0.999 * epsilon
    assert life.lifetime(days, 3) <= epsilon * (1 + 1e-9)


def test_the_accountant_agrees():
    price = budget(30).popularity_price(1)
    event = popularity_task(900, price, length=5).event()
    assert accounting.compose([event] * 30).epsilon(1e-6) == pytest.approx(1.0, rel=2e-3)


@pytest.mark.parametrize("days", [1, 10, 30, 31, 365])
def test_fewer_or_more_days_than_the_budget_was_made_for_are_counted_truly(days):
    price = budget(30).popularity_price(1)
    rho = gaussian_rho(float(popularity_task(900, price, length=5).noise_scale))
    found = budget(30).lifetime(days, 1)
    assert found == pytest.approx(zcdp_epsilon(days * rho, 1e-6), rel=1e-6)
    assert (found <= 1) == (days <= 30)
    assert d.FrontPage(max_days=30).lifetime(days) == pytest.approx(found)


def test_a_head_is_paid_once_besides_the_days():
    life = budget(30, head=1 / 3)
    assert life.popularity_price(1).noise is NoiseKind.GAUSSIAN
    assert life.popularity_price(1, teaches=True) == life.popularity_price(1)
    assert 0.95 < life.lifetime(30, 1) <= 1
    assert life.lifetime(60, 1) - life.lifetime(30, 1) < life.lifetime(30, 1)
    assert zcdp_epsilon(30 * gaussian_rho(noise_scale(life.popularity_price(1))), 0.5e-6) <= 2 / 3


def test_where_no_task_could_say_the_gaussian_noise_it_is_laplace():
    assert len(budget(36525, epsilon=0.1).popularity_prices()) == 1
    assert DayPrice.of_rho(0.0, 1e-6) is None
    assert DayPrice.of_rho(-1.0, 1e-6) is None
    assert DayPrice.of_rho(1.0, 1e-20).delta == 1e-12
    assert len(budget(30, weights=0.99).popularity_prices()) == 1, "the weights have taken everything"


def test_the_guarantee_says_which_noise_and_what_a_life_costs(task):
    method = d.FrontPage(epsilon=1, max_days=30)
    state = method.train(task, 0)
    promise = method.guarantee(state)
    assert promise.scope is Scope.LIFETIME
    assert promise.delta == 1e-6
    assert 0.999 < promise.epsilon <= 1
    assert "on at most 30 days, discrete Gaussian noise of each aggregator" in promise.mechanism
    assert np.isfinite(method.score(task, state, task.data.splits["dev"], 0)).all()
    assert {window.likelihood for window in method.windows(task, 0)} == {method.popularity(task).likelihood}
    assert method.popularity(task).likelihood.noise is NoiseKind.GAUSSIAN
    few, many = (d.FrontPage(max_days=6, max_clicks=k).guarantee({}) for k in (1, 4))
    assert "discrete Laplace noise" in few.mechanism
    assert "discrete Gaussian noise" in many.mechanism
    unknown = d.FrontPage(max_days=6).guarantee({})
    assert "discrete Laplace or discrete Gaussian noise" in unknown.mechanism
    assert unknown.epsilon == max(few.epsilon, many.epsilon)
    assert math.isinf(d.FrontPage(epsilon=math.inf, max_days=30).lifetime(30))


def test_where_laplace_noise_is_smaller_nothing_else_changes(task):
    method = d.FrontPage(epsilon=1, max_days=6)
    log = Log.of(list(task.data.splits.values()), len(task.data.readers), 900, 0)
    alone = list(released_windows(log, 900, DayPrice(method.daily_epsilon), 1, 0))
    both = list(method.windows(task, 0))
    assert len(both) == len(alone)
    assert all(np.array_equal(a.released, b.released) for a, b in zip(both, alone, strict=True))


def test_released_sums_have_the_gaussian_noise_of_both_aggregators():
    price, data = budget(30).popularity_price(4), audited_log(5)
    log = Log.of([data.splits["train"]], len(data.readers), HOUR, 0, 4)
    noised = [list(released_windows(log, HOUR, price, 1, seed, max_clicks=4)) for seed in range(20)]
    drawn = np.concatenate([window.released for windows in noised for window in windows])
    assert drawn.std() == pytest.approx(math.sqrt(count_likelihood(price, 4).variance), rel=0.1)
    assert math.sqrt(count_likelihood(price, 4).variance) == pytest.approx(min_exposure(price, 4), rel=1e-6)


def test_more_clicks_count_where_their_noise_grows_with_the_root_only(task):
    """Many slates a day are sent to one reader, who stands for many; k is as large as the smaller noise allows."""
    train = task.data.splits["train"]
    often = NewsData("often", task.data.articles, task.data.readers, {"train": replace(train, reader=0 * train.reader)})
    method = d.FrontPage(epsilon=1, max_days=30, population=60_000)
    clicks = method._clicks(TrainingTask(often, "hashed"))
    most = 0.25 * math.sqrt(60_000 * daily_exposure(often.splits["train"]))
    laplace, gaussian = budget(30).popularity_prices()
    assert int(most / min_exposure(laplace)) < clicks
    assert min_exposure(gaussian, clicks) <= most
    assert clicks == 10 or min_exposure(gaussian, clicks + 1) > most
    assert budget(30).popularity_price(clicks) == gaussian


def test_a_devices_ledger_pays_for_as_many_days_as_were_promised():
    """A device whose cap for life is the promised ε takes part on D days, and not on one more."""
    days, helper = 12, "https://helper.example"
    price = budget(days).popularity_price(2)
    assert price.noise is NoiseKind.GAUSSIAN
    terms = popularity_task(HOUR, price, 2, length=5, windows=24 * 20, leader="https://a.example", helper=helper)
    floors = Floors(helpers=frozenset({helper}), max_life_epsilon=1.0)
    assert floors.refusal(terms) is None
    ledger = ledger_in_memory(floors, lambda: 0.0)
    paid = [ledger.pay(terms, 24 * day) for day in range(days + 1)]
    assert paid == [True] * days + [False]
    assert 0.999 < ledger.spent().life <= 1
    assert terms.period(0) == terms.period(23) != terms.period(DAY // HOUR)
