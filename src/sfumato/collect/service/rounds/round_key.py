"""The RSA key of one campaign's round, which signs blinded tickets without seeing them [RFC 9474, section 4.3].

The private operation blinds its base and its exponents with fresh randomness, goes by the Chinese remainder theorem,
and checks its result with the public key before anybody sees it: one wrong bit would give the primes away. It is done
with Python's own integers, whose time depends on the numbers; the blinding makes that time independent of what was
asked for, it does not make it constant. Where gmpy2 is installed, its ``powmod_sec`` takes constant time.
"""

from __future__ import annotations

import secrets

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_der_private_key

from sfumato.collect.client.blind_tickets import EXPONENT, SALT_BYTES
from sfumato.collect.client.wire import to_base64url

try:
    from gmpy2 import mpz, powmod_sec
except ImportError:
    mpz, powmod_sec = int, pow

_HASH = hashes.SHA384()
_PSS = padding.PSS(padding.MGF1(_HASH), SALT_BYTES)
_BLIND_BITS = 64
_BITS = 2048


class RoundKey:
    """One round's private key, and its public half."""

    def __init__(self, private: rsa.RSAPrivateKey) -> None:
        self._private = private
        self._public = private.public_key()
        numbers = private.private_numbers()
        self._modulus = mpz(numbers.public_numbers.n)
        self._primes = mpz(numbers.p), mpz(numbers.q)
        self._exponents = mpz(numbers.dmp1), mpz(numbers.dmq1)
        self._inverse = mpz(numbers.iqmp)
        self.size = private.key_size // 8

    @classmethod
    def new(cls) -> RoundKey:
        """A fresh key."""
        return cls(rsa.generate_private_key(EXPONENT, _BITS))

    @classmethod
    def load(cls, kept: bytes) -> RoundKey:
        """The key that :attr:`kept` wrote."""
        found = load_der_private_key(kept, None)
        assert isinstance(found, rsa.RSAPrivateKey)
        return cls(found)

    @property
    def kept(self) -> bytes:
        """The key as the database keeps it, like the server's other secrets."""
        return self._private.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())

    @property
    def published(self) -> str:
        """The modulus as base64url; the exponent is always 65537."""
        return to_base64url(int(self._modulus).to_bytes(self.size))

    def fits(self, blinded: bytes) -> bool:
        """Whether these bytes are a number that this key can sign."""
        return len(blinded) == self.size and 0 < int.from_bytes(blinded) < self._modulus

    def sign(self, blinded: bytes) -> bytes:
        """The signature of a blinded message that :meth:`fits`, the same for the same message."""
        asked, n = mpz(int.from_bytes(blinded)), self._modulus
        drawn = mpz(2 + secrets.randbelow(int(n) - 2))
        hidden = asked * pow(drawn, EXPONENT, n) % n
        p, q = self._primes
        by_p, by_q = (
            powmod_sec(hidden % prime, exponent + secrets.randbits(_BLIND_BITS) * (prime - 1), prime)
            for prime, exponent in zip(self._primes, self._exponents, strict=True)
        )
        signed = (by_q + (by_p - by_q) * self._inverse % p * q) * pow(drawn, -1, n) % n
        if pow(signed, EXPONENT, n) != asked:
            raise ArithmeticError("a signature of a blinded ticket came out wrong")
        return int(signed).to_bytes(self.size)

    def verifies(self, message: bytes, signature: bytes) -> bool:
        """Whether ``signature`` is this key's of ``message``."""
        try:
            self._public.verify(signature, message, _PSS, _HASH)
        except InvalidSignature:
            return False
        return True
