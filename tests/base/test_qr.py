"""QR codes: the standard's own numbers, and every version read back by other code."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from qr_reader import modules_of_svg, read_qr

from sfumato.base.errors import InputError
from sfumato.base.qr import error_correction, qr_code, qr_svg


def test_the_codewords_of_the_standards_example() -> None:
    # ISO/IEC 18004, annex I: "01234567" as version 1-M.
    data = bytes.fromhex("10200C566180EC11EC11EC11EC11EC11")
    assert error_correction(data, 10) == bytes.fromhex("A524D4C1ED36C7872C55")


@pytest.mark.parametrize("length", [1, 14, 15, 26, 27, 42, 43, 62, 63, 84, 85, 106, 107, 122, 123, 152, 180, 181, 213])
def test_every_version_is_read_back(length: int) -> None:
    text = ("https://map.example.org/campaigns/" + "bicycles-in-the-old-town-" * 9)[:length]
    symbol = qr_code(text)
    assert read_qr(np.array(symbol)) == text
    versions = (14, 26, 42, 62, 84, 106, 122, 152, 180, 213)
    assert len(symbol) == 17 + 4 * (1 + sum(length > most for most in versions))


def test_a_reader_notices_a_module_that_is_wrong() -> None:
    wrong = np.array(qr_code("https://map.example.org/"))
    wrong[-1, -1] ^= True
    with pytest.raises(AssertionError, match="syndrome"):
        read_qr(wrong)


def test_the_symbol_is_one_that_another_decoder_has_read() -> None:
    """jsQR 1.4.0 read this very symbol, and 43 others of versions 1 to 10."""
    symbol = qr_code("https://map.example.org/campaigns/velo")
    told = "/".join("".join("01"[dark] for dark in row) for row in symbol)
    assert hashlib.sha256(told.encode()).hexdigest() == GOLDEN


def test_the_picture_holds_the_text_and_its_quiet_zone() -> None:
    svg = qr_svg("https://map.example.org/campaigns/vélo", label="QR code of <a> & b")
    assert read_qr(modules_of_svg(svg)) == "https://map.example.org/campaigns/vélo"
    assert "<title>QR code of &lt;a> &amp; b</title>" in svg


def test_a_text_that_is_too_long_is_refused_with_advice() -> None:
    with pytest.raises(InputError, match="holds 213"):
        qr_code("x" * 214)


GOLDEN = "6c090a9f7e2504b22752826aa6a71146b25efbfd73235ebf999f357b532ae9af"
