"""QR codes: the pictures are read back by a reader that shares nothing with the encoder."""

from __future__ import annotations

import re

import numpy as np
import pytest
from qr_reader import modules_of_svg, read_qr

from sfumato.base.errors import InputError
from sfumato.collect.qr import qr_svg


@pytest.mark.parametrize("length", [1, 14, 15, 26, 27, 42, 43, 62, 63, 84, 85, 106, 107, 122, 123, 152, 180, 181, 213])
def test_every_version_is_read_back_and_is_the_smallest_that_holds_its_text(length: int) -> None:
    text = ("https://map.example.org/campaigns/" + "bicycles-in-the-old-town-" * 9)[:length]
    symbol = modules_of_svg(qr_svg(text, label="a code"))
    assert read_qr(symbol) == text
    versions = (14, 26, 42, 62, 84, 106, 122, 152, 180, 213)
    assert len(symbol) == 17 + 4 * (1 + sum(length > most for most in versions))


def test_a_reader_notices_a_module_that_is_wrong() -> None:
    wrong = np.array(modules_of_svg(qr_svg("https://map.example.org/", label="a code")))
    wrong[-1, -1] ^= True
    with pytest.raises(AssertionError, match="syndrome"):
        read_qr(wrong)


def test_the_picture_holds_the_text_and_a_quiet_zone_of_four_modules() -> None:
    svg = qr_svg("https://map.example.org/campaigns/vélo", label="QR code of <a> & b")
    assert read_qr(modules_of_svg(svg)) == "https://map.example.org/campaigns/vélo"
    assert "<title>QR code of &lt;a&gt; &amp; b</title>" in svg
    size = re.search(r'viewBox="0 0 (\d+) ', svg)
    assert size is not None
    assert int(size[1]) == len(modules_of_svg(svg)) + 8


@pytest.mark.parametrize("length", [214, 5000])
def test_a_text_that_is_too_long_is_refused_with_advice(length: int) -> None:
    with pytest.raises(InputError, match="holds 213"):
        qr_svg("x" * length, label="a code")
