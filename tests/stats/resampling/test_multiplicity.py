from statistics import NormalDist

import hypothesis.strategies as st
import pytest
from hypothesis import given

from recjudge_tui.stats.resampling.multiplicity import holm, holm_claims, sign_test


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([]) == []


def test_what_was_not_tested_is_not_counted() -> None:
    assert holm([None, 0.02, None, 0.03]) == [None, 0.04, None, 0.04]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_lies_between_the_plain_and_bonferroni(p_values: list[float]) -> None:
    adjusted = [p for p in holm(p_values) if p is not None]
    m = len(p_values)
    assert all(
        p <= q <= min(1, m * p) + 1e-12 or q == max(adjusted) for p, q in zip(p_values, adjusted, strict=True)
    )
    assert min(adjusted) == pytest.approx(min(1, m * min(p_values)))
    order = sorted(range(m), key=lambda at: p_values[at])
    assert [adjusted[at] for at in order] == sorted(adjusted)


@given(
    st.lists(st.one_of(st.none(), st.floats(0, 6).map(lambda z: round(z, 2))), max_size=8),
    st.sampled_from([0.9, 0.95]),
)
def test_claims_from_intervals_are_those_from_p_values(distances: list[float | None], level: float) -> None:
    normal = NormalDist()

    def shown(confidence: float) -> list[bool | None]:
        reach = normal.inv_cdf(1 - (1 - confidence) / 2)
        return [None if z is None else z > reach for z in distances]

    adjusted = holm([None if z is None else 2 * (1 - normal.cdf(z)) for z in distances])
    assert holm_claims(shown, level) == [p is not None and p < 1 - level for p in adjusted]


def test_claims_ask_for_other_levels_only_where_something_is_shown() -> None:
    asked = []

    def shown(confidence: float) -> list[bool | None]:
        asked.append(confidence)
        return [False, None, confidence < 0.97, False]

    assert holm_claims(shown, 0.95) == [False] * 4
    assert asked == [0.95, pytest.approx(1 - 0.05 / 3)]
    asked.clear()
    assert holm_claims(lambda confidence: shown(confidence)[:2], 0.95) == [False] * 2
    assert asked == [0.95]


def test_a_p_value_outside_its_range_is_refused() -> None:
    with pytest.raises(ValueError, match="p value"):
        holm([1.2])


def test_sign_test() -> None:
    assert sign_test(8, 2) == pytest.approx(2 * (1 + 10 + 45) / 1024)
    assert sign_test(2, 8) == sign_test(8, 2)
    assert sign_test(5, 5) == 1
    assert sign_test(0, 0) is None
    with pytest.raises(ValueError, match="count"):
        sign_test(-1, 2)


def test_several_families_multiply_each_p_value_by_their_number() -> None:
    p = [0.01, 0.04, None, 0.03]
    assert holm(p, 3) == pytest.approx([0.09, 0.18, None, 0.18])
    assert holm([0.4], 3) == [1.0]
    assert holm(p, 1) == holm(p)
