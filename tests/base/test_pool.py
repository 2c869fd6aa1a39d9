"""Memory for large arrays: taken from where it says, given back, and Arrow's own pool again afterwards."""

from __future__ import annotations

import pyarrow as pa
import pytest

from sfumato.base.pool import frugal_pool, pooled_words


def test_arrows_pool_is_what_it_was_before_whatever_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ARROW_DEFAULT_MEMORY_POOL", raising=False)
    monkeypatch.setattr("platform.libc_ver", lambda: ("glibc", "2.36"))
    before = pa.default_memory_pool().backend_name
    kept = []

    def work() -> None:
        with frugal_pool():
            kept.append(pooled_words(1000))
            raise ValueError(pa.default_memory_pool().backend_name)

    with pytest.raises(ValueError, match="system" if before == "mimalloc" else before):
        work()
    assert pa.default_memory_pool().backend_name == before
    kept[0][:] = 7
    assert kept[0].sum() == 7000


@pytest.mark.parametrize(("name", "value"), [("libc", ("", "")), ("environment", "mimalloc")])
def test_nothing_changes_where_it_would_not_help_or_somebody_chose(
    monkeypatch: pytest.MonkeyPatch, name: str, value: object
) -> None:
    if name == "libc":
        monkeypatch.setattr("platform.libc_ver", lambda: value)
    else:
        monkeypatch.setenv("ARROW_DEFAULT_MEMORY_POOL", str(value))
    before = pa.default_memory_pool().backend_name
    with frugal_pool():
        assert pa.default_memory_pool().backend_name == before
