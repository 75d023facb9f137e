"""The keys that the plugin ssh gives to the pods of a Job, read by OpenSSL."""

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from phalanx.controllers.volcano.keys import pair


def test_a_pair_of_keys_is_one_that_openssl_takes_and_no_two_are_alike() -> None:
    found = [pair(1024), pair(1024)]
    assert found[0] != found[1]
    for private, public in found:
        # Loading checks that the numbers belong together.
        key = load_pem_private_key(private.encode(), None)
        assert isinstance(key, RSAPrivateKey)
        assert key.key_size == 1024
        assert key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode() == public.strip()
