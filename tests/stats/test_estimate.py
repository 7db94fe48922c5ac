import pytest

from recjudge_tui.stats.estimate import Estimate


def test_an_estimate_is_never_nan() -> None:
    with pytest.raises(ValueError, match="finite"):
        Estimate(float("nan"), None, None, 3)
    with pytest.raises(ValueError, match="finite"):
        Estimate(0.5, float("-inf"), 1.0, 3)


def test_a_rounding_error_is_zero() -> None:
    estimate = Estimate(-2e-16, -0.1, 2e-16, 5)
    assert (str(estimate.value), estimate.ci_low, estimate.ci_high) == ("0.0", -0.1, 0.0)
    assert Estimate(1e-9, None, None, 5).value == 1e-9
