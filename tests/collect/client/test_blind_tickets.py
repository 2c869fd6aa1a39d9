"""Blind tickets [RFC 9474]: the RFC's own vectors on both sides, the moment of a report, and a server that cheats."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from sfumato.base.errors import VerificationFailed
from sfumato.collect.client.blind_tickets import (
    EXPONENT,
    KIND,
    TicketTerms,
    blind_ticket,
    blinded_with,
    encoded_message,
    signature_from,
    terms_from,
    ticket_text,
)
from sfumato.collect.client.wire import from_base64url, to_base64url
from sfumato.collect.service.rounds import round_key
from sfumato.collect.service.rounds.round_key import RoundKey
from sfumato.collect.service.rounds.tickets import TicketRefused, check_blind_ticket

VECTORS = json.loads((Path(__file__).resolve().parents[2] / "golden" / "rfc9474.json").read_text())["vectors"]
[RANDOMIZED] = [vector for vector in VECTORS if vector["name"] == KIND]
KEY = RoundKey.new()
MODULUS = int.from_bytes(from_base64url(KEY.published))


def number(vector: dict[str, Any], name: str) -> int:
    return int(vector[name], 16)


def private_key(vector: dict[str, Any]) -> RoundKey:
    p, q, d, n = (number(vector, name) for name in "pqdn")
    public = rsa.RSAPublicNumbers(number(vector, "e"), n)
    crt = rsa.rsa_crt_dmp1(d, p), rsa.rsa_crt_dmq1(d, q), rsa.rsa_crt_iqmp(p, q)
    return RoundKey(rsa.RSAPrivateNumbers(p, q, d, *crt, public).private_key())


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: str(vector["name"]))
def test_the_device_and_the_server_reproduce_the_vectors_of_the_rfc(vector: dict[str, Any]) -> None:
    n, key = number(vector, "n"), private_key(vector)
    drawn = pow(number(vector, "inv"), -1, n)
    salt = bytes.fromhex(vector["salt"] or "")
    kept = blinded_with(n, bytes.fromhex(vector["input_msg"]), salt, drawn)
    assert kept["blinded"] == vector["blinded_msg"]
    assert key.sign(bytes.fromhex(kept["blinded"])).hex() == vector["blind_sig"]
    assert signature_from(kept, vector["blind_sig"]) == vector["sig"]
    if len(salt) == 48:
        assert key.verifies(bytes.fromhex(vector["input_msg"]), bytes.fromhex(vector["sig"]))
    if "encoded_msg" in vector:
        assert encoded_message(bytes.fromhex(vector["input_msg"]), salt, bits=n.bit_length() - 1).hex() == vector[
            "encoded_msg"
        ].zfill(2 * ((n.bit_length() + 7) // 8))


def signed(key: RoundKey = KEY, cycle: int = 1) -> str:
    kept = blind_ticket(MODULUS)
    return ticket_text(
        cycle, {**kept, "signature": signature_from(kept, key.sign(bytes.fromhex(kept["blinded"])).hex())}
    )


def test_a_ticket_is_a_signature_that_any_other_implementation_accepts_and_no_two_are_alike() -> None:
    public = rsa.RSAPublicNumbers(EXPONENT, MODULUS).public_key()
    pss = padding.PSS(padding.MGF1(hashes.SHA384()), 48)
    tickets = {signed() for _ in range(5)}
    assert len(tickets) == 5
    for text in tickets:
        _, _, message, signature = text.split("-")
        public.verify(bytes.fromhex(signature), bytes.fromhex(message), pss, hashes.SHA384())
        with pytest.raises(InvalidSignature):
            public.verify(bytes.fromhex(signature), bytes.fromhex(message)[::-1], pss, hashes.SHA384())
        assert len(check_blind_ticket(KEY, text, cycle=1)) == 16


def test_a_ticket_of_another_round_key_kind_or_message_is_refused_in_words() -> None:
    good = signed()
    kind, cycle, message, signature = good.split("-")
    other = RoundKey.new()
    for text, key, words in (
        (good, other, "this round's key"),
        (f"{kind}-2-{message}-{signature}", KEY, "another cycle"),
        (f"{kind}-{cycle}-{message[::-1]}-{signature}", KEY, "this round's key"),
        (f"{kind}-{cycle}-{message}-{signature[::-1]}", KEY, "this round's key"),
        (f"{kind}-{cycle}-{message}-{'00' * 512}", KEY, "this round's key"),
        (f"1-1-9999999999-{'0' * 32}-{'0' * 64}", KEY, "blind"),
        ("2-1-7", KEY, "blind"),
    ):
        with pytest.raises(TicketRefused, match=words):
            check_blind_ticket(key, text, cycle=1)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(lambda kept: RoundKey.new().sign(b"\0" + bytes.fromhex(kept["blinded"])[1:]).hex(), id="own key"),
        pytest.param(lambda kept: kept["blinded"], id="unsigned"),
        pytest.param(lambda kept: "ff" * 256, id="too large"),
        pytest.param(lambda kept: "not hexadecimal", id="text"),
        pytest.param(lambda kept: None, id="nothing"),
    ],
)
def test_a_signature_by_a_key_for_one_person_alone_is_refused(answer: Any) -> None:
    kept = blind_ticket(MODULUS)
    with pytest.raises(VerificationFailed, match="another key than the one it shows everybody"):
        signature_from(kept, answer(kept))


def test_what_was_signed_fits_every_ticket_so_it_points_at_none() -> None:
    """The operator, who has the key, looks for the r that leads from each ticket to each blinded message: there is one
    for every pair, with the same right to be it."""
    people = [blind_ticket(MODULUS) for _ in range(4)]
    spent = [signature_from(kept, KEY.sign(bytes.fromhex(kept["blinded"])).hex()) for kept in people]
    for one in people:
        for signature in spent:
            encoded = pow(int(signature, 16), EXPONENT, MODULUS)
            power = int(one["blinded"], 16) * pow(encoded, -1, MODULUS) % MODULUS
            r = int.from_bytes(KEY.sign(power.to_bytes(256)))
            assert math.gcd(r, MODULUS) == 1
            assert encoded * pow(r, EXPONENT, MODULUS) % MODULUS == int(one["blinded"], 16)


def wire(**changes: Any) -> dict[str, Any]:
    return {"kind": KIND, "key": KEY.published, "opened_at_s": 1000, "round_s": 100, **changes}


def test_the_round_says_its_key_and_times_and_anything_else_is_refused() -> None:
    assert terms_from(wire()) == TicketTerms(MODULUS, 1000, 100)
    without = wire()
    del without["round_s"]
    assert terms_from(without).round_s is None
    small = rsa.generate_private_key(EXPONENT, 1024).public_key().public_numbers().n.to_bytes(128)
    for bad, words in (
        (None, "kind of ticket"),
        (wire(kind="RSABSSA-SHA384-PSS-Deterministic"), "kind of ticket"),
        (wire(key=to_base64url(small)), "1024 bits"),
        (wire(key=to_base64url(b"\0" + small + small)), "bits"),
        (wire(key="*"), "bits"),
        (wire(opened_at_s=True), "whole seconds"),
        (wire(round_s=0), "whole seconds"),
        (wire(round_s=1.5), "whole seconds"),
        (wire(note="for you"), "missing or unknown"),
    ):
        with pytest.raises(VerificationFailed, match=words):
            terms_from(bad)


def test_a_report_waits_for_a_moment_of_the_second_half_and_later_comers_for_the_next_round() -> None:
    terms = TicketTerms(MODULUS, 1000, 100)
    for now_s, first in ((1000.0, 1050.0), (1049.9, 1050.0), (1310.0, 1350.0)):
        moments = [terms.report_moment_s(now_s) for _ in range(200)]
        assert all(one is not None and first <= one < first + 50 for one in moments)
        assert max(m for m in moments if m) - min(m for m in moments if m) > 30
    assert terms.report_moment_s(1050.0) is None
    assert terms.report_moment_s(1399.0) is None
    assert TicketTerms(MODULUS, 1000, None).report_moment_s(1000.0) is None


def test_with_gmpy2_the_signatures_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    gmpy2 = pytest.importorskip("gmpy2", reason="gmpy2 is not installed: pip install gmpy2")
    blinded = [bytes.fromhex(blind_ticket(MODULUS)["blinded"]) for _ in range(3)]
    kept, signed = KEY.kept, []
    for number, power in ((int, pow), (gmpy2.mpz, gmpy2.powmod_sec)):
        monkeypatch.setattr(round_key, "mpz", number)
        monkeypatch.setattr(round_key, "powmod_sec", power)
        key = RoundKey.load(kept)
        signed.append([key.sign(one) for one in blinded])
    assert signed[0] == signed[1]
