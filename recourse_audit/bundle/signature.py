"""The only door to cryptography: a manifest is signed with Ed25519, and signatures are checked."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from recourse_audit.errors import InputError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

ALGORITHM = "Ed25519"


@dataclass(frozen=True, slots=True, kw_only=True)
class Signer:
    """A private key, and the public one that belongs to it, in hexadecimal."""

    key: "Ed25519PrivateKey"
    public: str

    def sign(self, text: str) -> str:
        return signature_text(self.public, self.key.sign(text.encode()).hex())


def signature_text(public: str, signature: str) -> str:
    """The content of a signature file."""
    record = {"algorithm": ALGORITHM, "public_key": public, "signature": signature}
    return f"{json.dumps(record, indent=1)}\n"


def read_signer(path: Path) -> Signer:
    """Read a private key from a PEM file."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    content = read_key_file(path, "--sign")
    try:
        key = load_pem_private_key(content, None)
    except TypeError:
        raise InputError(
            f"{path}: is protected by a password; --sign takes a key without one"
        ) from None
    except ValueError:
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise InputError(
            f"{path}: is not an Ed25519 private key in PEM; make one with `openssl genpkey "
            "-algorithm ed25519`"
        )
    return Signer(key=key, public=key.public_key().public_bytes_raw().hex())


def read_public_key(path: Path) -> str:
    """Read a public key from a PEM file; in hexadecimal."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        key = load_pem_public_key(read_key_file(path, "--key"))
    except ValueError:
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise InputError(
            f"{path}: is not an Ed25519 public key in PEM; make one with `openssl pkey -in KEY "
            "-pubout`"
        )
    return key.public_bytes_raw().hex()


def is_signed(text: bytes, signature: str, public: str) -> bool:
    """Whether a signature file holds the signature of a text by a key."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        value = bytes.fromhex(json.loads(signature)["signature"])
        if signature != signature_text(public, value.hex()):  # capital letters are a change, too
            return False
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public))
        key.verify(value, text)
    except (ValueError, KeyError, TypeError, RecursionError, InvalidSignature):
        return False
    return True


def read_key_file(path: Path, option: str) -> bytes:
    """What is in a file that an option names."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); correct {option}") from None
