import subprocess
import sys

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from recjudge_tui.stats.arrays import as_floats, encode


@given(st.lists(st.integers(-5, 10_000), max_size=30))
def test_codes_follow_the_sorted_ids_by_either_way(ids: list[int]) -> None:
    codes, count = encode(np.array(ids, dtype=np.int64))
    assert count == len(set(ids))
    assert codes.tolist() == [sorted(set(ids)).index(i) for i in ids]


def test_tables_are_refused_where_a_column_is_meant() -> None:
    with pytest.raises(ValueError, match="2 dimensions"):
        as_floats([[1, 2]])
    with pytest.raises(ValueError, match="2 dimensions"):
        encode([[1, 2]])


def test_importing_the_room_does_not_load_scipy() -> None:
    names = "agreement intervals hypotheses ranking registry retrieval calibration planning text combining"
    code = "import sys\n" + "".join(f"import recjudge_tui.stats.{n}\n" for n in names.split())
    code += "assert not {'scipy', 'pydantic', 'sqlite3'} & set(sys.modules), 'too much loaded'"
    subprocess.run([sys.executable, "-c", code], check=True)
