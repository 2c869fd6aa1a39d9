"""Bodies that no campaign is made from."""

from __future__ import annotations

BAD_BODIES = {
    "one megabyte": b'{"cell": 1, "version": "' + b"0" * 1_000_000 + b'"}',
    "deep objects": b'{"cell":' * 100_000 + b"1" + b"}" * 100_000,
    "deep lists": b"[" * 900 + b"]" * 900,
    "bad UTF-8": b'{"cell": 1, "key": "\xff\xfe\xfa"}',
    "lone surrogate": b'{"cell": 1, "key": "\\ud800"}',
    "huge integer": b'{"cell": 1' + b"0" * 1_500 + b"}",
    "integer beyond 64 bits": b'{"cell": 18446744073709551616}',
    "exponent": b'{"cell": 1e999}',
    "NaN": b'{"cell": NaN}',
    "nothing": b"",
    "not JSON": b"cell=1",
    "null bytes": b"\x00" * 100,
    "repeated fields": b'{"cell": 1, "cell": 2}',
}
