"""Prediction-powered means: by hand, beside the authors' program, and the coverage they promise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import t

from recjudge_tui.stats.experiments import prediction_powered as pp
from recjudge_tui.stats.intervals import clopper_pearson

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
LABELS = [1, 0, 1, 1, 0, 1, 0, 1, 1, 0, 1, 0.5, 1, 0, 1, 1, 0, 0.5, 1, 0]
SAID = [1, 0, 1, 0.5, 0, 1, 1, 1, 1, 0, 0.5, 0.5, 1, 0, 0, 1, 0, 1, 1, 0]
BEYOND = [1, 1, 0, 1, 0, 1, 0.5, 1] * 10


def example() -> tuple[Floats, Floats]:
    return np.array(LABELS + [math.nan] * 80), np.array(SAID + BEYOND)


def test_by_hand_with_one_case_a_user() -> None:
    human, judge = example()
    found = pp.prediction_powered_mean(human, judge, range(100), scale=None)
    y, f, u = human[:20], judge[:20], judge[20:]
    varies = f.var(ddof=1) / 20 + u.var(ddof=1) / 80
    power = np.cov(y, f)[0, 1] / 20 / varies
    value = y.mean() - power * (f.mean() - u.mean())
    plain = y.var(ddof=1) / 20
    variance = plain - 2 * power * np.cov(y, f)[0, 1] / 20 + power**2 * varies
    variance = (18 * variance + 4 * plain) / 22
    assert found.power == pytest.approx(power)
    assert found.powered.value == pytest.approx(value)
    assert found.powered.ci_low is not None
    assert found.powered.ci_high is not None
    half = t.ppf(0.975, 18) * math.sqrt(variance)
    assert found.powered.ci_high - found.powered.ci_low == pytest.approx(2 * half, rel=0.15)
    assert found.n_effective == pytest.approx(20 * plain / variance)
    assert found.saved == math.floor(20 * plain / variance - 20) == 8
    assert (found.n_labelled, found.n_judged) == (20, 100)
    assert found.human.value == pytest.approx(y.mean())
    assert found.judge.value == pytest.approx(judge.mean())
    gap = (f.mean() - u.mean()) / math.sqrt(varies)
    assert found.balance_p == pytest.approx(2 * t.sf(abs(gap), 19))


def test_a_few_unlabelled_cases_give_no_balance_test() -> None:
    """One case without a label moved an estimate from 28 % to 0 % and was said to differ from the others at p = 4e-7."""
    rng = np.random.default_rng(4)
    truth = (rng.random(25) < 0.4).astype(float)
    some = truth.copy()
    some[:9] = np.nan
    nine = pp.prediction_powered_mean(some, truth, range(25))
    assert (nine.powered.value, nine.powered.note, nine.balance_p) == (None, pp.FEW_UNLABELLED, None)
    some[9] = np.nan
    ten = pp.prediction_powered_mean(some, truth, range(25))
    assert ten.powered.value is not None
    assert ten.balance_p is not None
    few = np.where(np.arange(25) < 9, truth, np.nan)
    assert pp.prediction_powered_mean(few, truth, range(25)).balance_p is None


def test_near_the_authors_program_where_labels_are_many() -> None:
    """ppi_py 0.2.3, ppi_mean_pointestimate and ppi_mean_ci, gives 0.40360 [0.38756, 0.41964] for these rows."""
    rng = np.random.default_rng(20231102)
    truth = (rng.random(22000) < 0.4).astype(float)
    judge = np.where(rng.random(22000) < 0.85, truth, 1 - truth)
    human = np.where(np.arange(22000) < 2000, truth, np.nan)
    found = pp.prediction_powered_mean(human, judge, np.arange(22000))
    assert found.powered.value == pytest.approx(0.40360, abs=2e-5)
    assert (found.powered.ci_low, found.powered.ci_high) == pytest.approx((0.38756, 0.41964), abs=1e-3)


def test_users_with_several_cases_by_a_plain_loop() -> None:
    rng = np.random.default_rng(6)
    users = rng.integers(0, 40, 200)
    judge = rng.integers(0, 3, 200).astype(float)
    human = np.where(rng.random(200) < 0.4, np.clip(judge + rng.integers(-1, 2, 200), 0, 2), np.nan)
    found = pp.prediction_powered_mean(human, judge, users, scale=None)
    here = ~np.isnan(human)
    left, right = np.unique(users[here]).size, np.unique(users[~here]).size
    people, machine = [], []
    for user in range(40):
        mine = users == user
        a = math.sqrt(left / (left - 1)) * (human[mine & here] - human[here].mean()).sum() / here.sum()
        b = math.sqrt(left / (left - 1)) * (judge[mine & here] - judge[here].mean()).sum() / here.sum()
        b -= (
            math.sqrt(right / (right - 1)) * (judge[mine & ~here] - judge[~here].mean()).sum() / (~here).sum()
        )
        people.append(a)
        machine.append(b)
    a, b = np.array(people), np.array(machine)
    power = min(1.0, max(0.0, (a @ b) / (b @ b)))
    variance = ((left - 2) * ((a - power * b) ** 2).sum() + 4 * (a @ a)) / (left + 2)
    assert found.power == pytest.approx(power)
    assert found.powered.ci_high is not None
    assert found.powered.value is not None
    assert found.powered.ci_low is not None
    assert found.powered.ci_high - found.powered.ci_low == pytest.approx(
        2 * t.ppf(0.975, left - 2) * math.sqrt(variance), rel=0.15
    )


def test_order_of_rows_and_names_of_users_do_not_matter() -> None:
    human, judge = example()
    users = np.array([f"u{at % 30}" for at in range(100)])
    turned = np.random.default_rng(0).permutation(100)
    one, other = (
        pp.prediction_powered_mean(human, judge, users),
        pp.prediction_powered_mean(human[turned], judge[turned], users[turned]),
    )
    assert one.powered.value == pytest.approx(other.powered.value)
    assert one.powered.ci_low == pytest.approx(other.powered.ci_low)


def test_a_useless_judge_costs_nothing_and_a_perfect_one_saves() -> None:
    rng = np.random.default_rng(1)
    truth = (rng.random(1000) < 0.5).astype(float)
    human = np.where(np.arange(1000) < 100, truth, np.nan)
    useless = pp.prediction_powered_mean(human, rng.permutation(truth), range(1000))
    assert useless.n_effective == pytest.approx(100, abs=5)
    opposed = pp.prediction_powered_mean(human, 1 - truth, range(1000))
    assert opposed.power == 0.0
    assert opposed.powered.value == opposed.human.value
    assert opposed.saved == 0
    perfect = pp.prediction_powered_mean(human, truth, range(1000))
    assert perfect.saved is not None
    assert 400 < perfect.saved < 900
    biased = pp.prediction_powered_mean(human, np.where(rng.random(1000) < 0.3, 1.0, truth), range(1000))
    assert biased.judge.value is not None
    assert biased.powered.value is not None
    assert biased.judge.value > 0.6
    assert abs(biased.powered.value - 0.5) < 0.1


def test_a_metric_on_its_own_scale_helps_when_not_clipped() -> None:
    rng = np.random.default_rng(2)
    truth = rng.integers(1, 6, 600).astype(float)
    human = np.where(np.arange(600) < 80, truth, np.nan)
    metric = truth / 50 + rng.normal(0, 0.01, 600)
    found = pp.prediction_powered_mean(human, -metric, range(600), scale=pp.Scale(1, 5), clip=False)
    assert found.power is not None
    assert found.power < -20
    assert found.saved is not None
    assert found.saved > 80


def test_what_is_not_defined_says_why() -> None:
    human, judge = example()
    none = pp.prediction_powered_mean(np.full(100, np.nan), judge, range(100))
    assert (none.powered.value, none.powered.note, none.human.note) == (None, pp.NO_LABELS, pp.NO_LABELS)
    assert none.judge.value is not None
    whole = pp.prediction_powered_mean(human[:20], judge[:20], range(20))
    assert (whole.powered.value, whole.powered.note) == (None, pp.ALL_LABELLED)
    assert whole.human.ci_low is not None
    few = pp.prediction_powered_mean(human, judge, [at % 9 for at in range(20)] + list(range(20, 100)))
    assert (few.powered.ci_low, few.powered.note, few.n_effective) == (None, pp.FEW_USERS, None)
    assert few.powered.value is not None
    assert pp.prediction_powered_mean([], [], []).judge.value is None
    failed = pp.prediction_powered_mean([1.0, math.nan], [math.nan, 1.0], [0, 1])
    assert (failed.n_labelled, failed.n_judged, failed.powered.note) == (0, 1, pp.NO_LABELS)


def test_labels_nearly_alike_have_no_powered_interval_but_the_exact_one_of_people() -> None:
    _, judge = example()
    human = np.array([1.0] * 4 + [0.0] * 16 + [math.nan] * 80)
    found = pp.prediction_powered_mean(human, judge, range(100))
    assert (found.powered.ci_low, found.powered.note) == (None, pp.ALIKE)
    assert (found.human.ci_low, found.human.ci_high) == (
        clopper_pearson(4, 20).ci_low,
        clopper_pearson(4, 20).ci_high,
    )


def test_a_judge_that_never_varies_adds_nothing() -> None:
    human, _ = example()
    found = pp.prediction_powered_mean(human, np.ones(100), range(100))
    assert (found.power, found.saved, found.balance_p) == (0.0, 0, None)
    assert found.powered.value == found.human.value
    assert found.powered.note == pp.UNVARIED


def test_ends_stay_on_the_scale() -> None:
    rng = np.random.default_rng(3)
    truth = (rng.random(300) < 0.1).astype(float)
    found = pp.prediction_powered_mean(np.where(np.arange(300) < 60, truth, np.nan), truth, range(300))
    assert found.powered.ci_low is not None
    assert found.powered.ci_high is not None
    assert found.powered.value is not None
    assert 0 < found.powered.ci_low < found.powered.value < found.powered.ci_high < 1


def test_wrong_input() -> None:
    for human, judge, options in (
        ([2.0], [1.0], {}),
        ([1.0], [2.0], {}),
        ([1.0], [1.0, 0.0], {}),
        (LABELS, LABELS, {"level": 95}),
    ):
        words: dict[str, Any] = options
        with pytest.raises(ValueError):
            pp.prediction_powered_mean(human, judge, range(len(judge)), **words)


def _world(rng: np.random.Generator, rate: float, skill: float) -> tuple[Ints, Floats, Floats]:
    """400 users of 1 to 4 cases, some users kinder than others and some harder to judge: (user, label, verdict)."""
    user = np.repeat(np.arange(400), rng.integers(1, 5, 400))
    kind = rng.normal(0, 1, 400)[user]
    label = (rng.random(user.size) < 1 / (1 + np.exp(-kind - math.log(rate / (1 - rate))))).astype(float)
    eased = np.clip(skill + rng.normal(0, 0.1, 400), 0, 1)[user]
    return user, label, np.where(rng.random(user.size) < eased, label, 1 - label)


@pytest.mark.parametrize("drawn", ["users", "cases"])
@pytest.mark.parametrize(("rate", "skill"), [(0.3, 0.7), (0.6, 0.95), (0.1, 0.95)])
def test_intervals_cover_with_few_labels(
    monkeypatch: pytest.MonkeyPatch, drawn: str, rate: float, skill: float
) -> None:
    """Labels of 40 of 400 users, or of 80 cases wherever they fall; the powered interval holds as the classical does."""
    # the permutations take most of the time, and no interval depends on them
    monkeypatch.setattr(pp, "balance_p", lambda *_: 1.0)
    rng = np.random.default_rng(5)
    spread = np.random.default_rng(1).normal(0, 1, 200_000)
    truth = float((1 / (1 + np.exp(-spread - math.log(rate / (1 - rate))))).mean())
    powered, classical, counted, wider = 0, 0, 0, []
    for _ in range(500):
        user, label, verdict = _world(rng, rate, skill)
        chosen = (
            rng.choice(400, 40, replace=False)
            if drawn == "users"
            else rng.choice(user.size, 80, replace=False)
        )
        seen = np.isin(user, chosen) if drawn == "users" else np.isin(np.arange(user.size), chosen)
        found = pp.prediction_powered_mean(np.where(seen, label, np.nan), verdict, user)
        both, alone = found.powered, found.human
        if both.ci_low is None or both.ci_high is None or alone.ci_low is None or alone.ci_high is None:
            continue
        counted += 1
        powered += both.ci_low <= truth <= both.ci_high
        classical += alone.ci_low <= truth <= alone.ci_high
        wider.append((both.ci_high - both.ci_low) / (alone.ci_high - alone.ci_low))
    assert counted > 480
    assert classical / counted > 0.925
    assert powered / counted > 0.925
    assert np.mean(wider) < (0.8 if skill > 0.9 else 1.0)


def test_a_judge_without_errors_on_few_labels_is_not_trusted_too_soon(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """20 labels and a judge wrong once in 20: often no fault is seen, and without CAUTION the interval fails."""
    # as above
    monkeypatch.setattr(pp, "balance_p", lambda *_: 1.0)
    rng = np.random.default_rng(12)
    hits, counted = 0, 0
    for _ in range(600):
        label = (rng.random(1000) < 0.3).astype(float)
        verdict = np.where(rng.random(1000) < 0.95, label, 1 - label)
        found = pp.prediction_powered_mean(
            np.where(np.arange(1000) < 20, label, np.nan), verdict, range(1000)
        ).powered
        if found.ci_low is not None and found.ci_high is not None:
            counted += 1
            hits += found.ci_low <= 0.3 <= found.ci_high
    assert counted > 400
    assert hits / counted > 0.95
