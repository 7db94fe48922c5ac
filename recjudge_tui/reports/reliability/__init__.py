"""How reliable a judge is: robustness, calibration, bias, sample sizes, gates."""
