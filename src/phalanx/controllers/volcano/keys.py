"""A pair of RSA keys for ssh, as Volcano makes one for each Job that wants it: with what Python brings along.

Numbers that may be primes are tried by Miller and Rabin with random witnesses. Random numbers of this size that are no
primes pass eight rounds with less than one chance in 2^100 (Damgard, Landrock and Pomerance; FIPS 186 asks for five).
The tests hold the pair against OpenSSL's reading of it.
"""

import base64
import secrets
from math import gcd

BITS = 2048
_EXPONENT = 65537
_ROUNDS = 8
_SMALL = tuple(n for n in range(3, 2000, 2) if all(n % d for d in range(3, int(n**0.5) + 1, 2)))


def pair(bits: int = BITS) -> tuple[str, str]:
    """Return a private key (PKCS 1, PEM) and its public one as ssh writes it. It takes a moment."""
    while True:
        p, q = _prime(bits // 2), _prime(bits // 2)
        n, phi = p * q, (p - 1) * (q - 1)
        if p != q and n.bit_length() == bits and gcd(_EXPONENT, phi) == 1:
            break
    d = pow(_EXPONENT, -1, phi)
    numbers = (0, n, _EXPONENT, d, p, q, d % (p - 1), d % (q - 1), pow(q, -1, p))
    body = b"".join(_der(2, _signed(one)) for one in numbers)
    text = base64.b64encode(_der(0x30, body)).decode()
    lines = "\n".join(text[at : at + 64] for at in range(0, len(text), 64))
    public = b"".join(len(part).to_bytes(4, "big") + part for part in (b"ssh-rsa", _signed(_EXPONENT), _signed(n)))
    private = f"-----BEGIN RSA PRIVATE KEY-----\n{lines}\n-----END RSA PRIVATE KEY-----\n"
    return private, f"ssh-rsa {base64.b64encode(public).decode()}\n"


def _prime(bits: int) -> int:
    while True:
        # The two highest bits, so that a product has twice as many.
        found = secrets.randbits(bits) | 1 | (3 << (bits - 2))
        if all(found % small for small in _SMALL) and _is_prime(found):
            return found


def _is_prime(number: int) -> bool:
    odd, twos = number - 1, 0
    while not odd % 2:
        odd, twos = odd // 2, twos + 1
    for _ in range(_ROUNDS):
        power = pow(2 + secrets.randbelow(number - 3), odd, number)
        if power in {1, number - 1}:
            continue
        for _ in range(twos - 1):
            power = power * power % number
            if power == number - 1:
                break
        else:
            return False
    return True


def _signed(number: int) -> bytes:
    """Return a number that is not taken for a negative one."""
    return number.to_bytes(number.bit_length() // 8 + 1, "big")


def _der(tag: int, content: bytes) -> bytes:
    size = len(content)
    if size < 128:
        return bytes((tag, size)) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes((tag, 128 | len(length))) + length + content
