"""Media: the token that stands for what was taken out of an observation, and the content behind it.

With the habit ``overflow`` a larger input or output is replaced when it comes in; SDKs upload images and the like themselves.
``GET /media/{id}`` says where the content is.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hunkwatch.sandbox import answers, moments
from hunkwatch.sandbox.rows import Body, Row, text_of

HOUR = 3_600_000
STORE = "/sandbox/media"
ID_LENGTH = 22
TEXT = "text/plain"
_URL_SAFE = str.maketrans("+/", "-_")


@dataclass(slots=True)
class Asset:
    """A content, or the promise of one."""

    type: str
    content: bytes | None
    uploaded: int


@dataclass(slots=True)
class Media:
    """What was taken out of observations."""

    _assets: dict[str, Asset] = field(default_factory=dict)

    def relieve(self, row: Row, limit: int, now: int) -> None:
        """Replace the row's texts of more than ``limit`` bytes by tokens."""
        row.input, row.output = self._token(row.input, limit, now), self._token(row.output, limit, now)
        row.mark()

    def _token(self, body: Body, limit: int, now: int) -> Body:
        content = (text_of(body) or "").encode("utf-8", "surrogatepass")
        if len(content) <= limit:
            return body
        id_ = hashlib.sha256(content).hexdigest()[:ID_LENGTH]
        self._assets[id_] = Asset(TEXT, content, now)
        return f"@@@langfuseMedia:type={TEXT}|id={id_}|source=field_size_limit@@@"

    def promise(self, body: object, base_url: str, now: int) -> dict[str, Any]:
        """The body of ``POST /media``: where to put the content, null if it is there already."""
        if not isinstance(body, Mapping):
            raise answers.invalid([answers.expected("object", body, [])])
        for key in ("sha256Hash", "contentType"):
            if not isinstance(body.get(key), str):
                raise answers.invalid([answers.expected("string", body.get(key, answers.ABSENT), [key])])
        # SDKs work the same id out of the hash by themselves, and stop where the server's is another.
        id_ = body["sha256Hash"].translate(_URL_SAFE)[:ID_LENGTH]
        asset = self._assets.setdefault(id_, Asset(body["contentType"], None, now))
        return {"mediaId": id_, "uploadUrl": None if asset.content is not None else _address(base_url, id_)}

    def put(self, id_: str, content: bytes, now: int) -> None:
        """Keep a promised content."""
        asset = self._assets[id_]
        asset.content, asset.uploaded = content, now

    def __contains__(self, id_: str) -> bool:
        """Tell whether this content is here or promised."""
        return id_ in self._assets

    def about(self, id_: str, base_url: str, now: int) -> dict[str, Any]:
        """The body of ``GET /media/{id}``, or a 404."""
        asset = self._assets.get(id_)
        if asset is None or asset.content is None:
            raise answers.missing("Media asset not found")
        return {
            "mediaId": id_,
            "contentType": asset.type,
            "contentLength": len(asset.content),
            "url": _address(base_url, id_),
            "urlExpiry": moments.write(now + HOUR),
            "uploadedAt": moments.write(asset.uploaded),
        }

    def content(self, id_: str) -> tuple[str, bytes]:
        """The type and the bytes of what is here."""
        asset = self._assets[id_]
        return asset.type, asset.content or b""


def _address(base_url: str, id_: str) -> str:
    return f"{base_url.rstrip('/')}{STORE}/{id_}"
