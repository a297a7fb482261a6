"""Who may enter: basic authentication by the secret key, bearer authentication by the public key for scores only."""

import base64
import binascii

from hunkwatch.sandbox.answers import Answer
from hunkwatch.sandbox.state import Access, Room, State

WRONG_KEY = "Invalid credentials. Confirm that you've configured the correct host."
NO_HEADER = "No authorization header"
SCORE_PATHS = ("/scores", "/ingestion")
TOO_LITTLE = "Access denied - insufficient permissions for this endpoint"


def enter(state: State, header: str | None, *, with_public_key: bool) -> Room:
    """The room of the key's project, or 401 or 403. Only the secret key is compared, as in Langfuse."""
    if not header:
        raise Answer(401, {"message": NO_HEADER})
    scheme, _, secret = header.partition(" ")
    if scheme.lower() == "bearer":
        for room in state.rooms.values():
            if room.project.public_key == secret.strip():
                if with_public_key:
                    return room
                raise Answer(403, {"message": TOO_LITTLE})
        raise Answer(401, {"message": WRONG_KEY})
    try:
        _, _, secret_key = base64.b64decode(secret).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        raise Answer(401, {"message": WRONG_KEY}) from None
    for room in state.rooms.values():
        if room.project.secret_key == secret_key:
            return room
    raise Answer(401, {"message": WRONG_KEY})


def allow(room: Room, *, method: str, path: str) -> None:
    """Let a key that may not do everything do what it may, or raise the 403."""
    match room.project.access:
        case Access.READ_ONLY:
            allowed = method in {"GET", "HEAD"}
        case Access.SCORES_ONLY:
            allowed = method == "POST" and path in SCORE_PATHS
        case _:
            allowed = True
    if not allowed:
        raise Answer(403, {"message": TOO_LITTLE})
