"""Media, as far as a reader needs it: the token that stands for a text that was too large, and the text behind it.

With the habit ``overflow`` a larger input or output is replaced when it comes in; ``GET /media/{id}`` says where the text is.
"""

import hashlib
from dataclasses import dataclass, field
from typing import Any

from hunkwatch.sandbox import answers, moments
from hunkwatch.sandbox.rows import Body, Row, text_of

HOUR = 3_600_000
STORE = "/sandbox/media"


@dataclass(slots=True)
class Media:
    """The texts that were taken out of observations."""

    _texts: dict[str, tuple[bytes, int]] = field(default_factory=dict)

    def relieve(self, row: Row, limit: int, now: int) -> None:
        """Replace the row's texts of more than ``limit`` bytes by tokens."""
        row.input, row.output = self._token(row.input, limit, now), self._token(row.output, limit, now)
        row.mark()

    def _token(self, body: Body, limit: int, now: int) -> Body:
        content = (text_of(body) or "").encode("utf-8", "surrogatepass")
        if len(content) <= limit:
            return body
        id_ = hashlib.sha256(content).hexdigest()[:22]
        self._texts[id_] = content, now
        return f"@@@langfuseMedia:type=text/plain|id={id_}|source=field_size_limit@@@"

    def __contains__(self, id_: str) -> bool:
        """Tell whether there is such a text."""
        return id_ in self._texts

    def about(self, id_: str, base_url: str, now: int) -> dict[str, Any]:
        """The body of ``GET /media/{id}``, or a 404."""
        content, uploaded = self._find(id_)
        return {
            "mediaId": id_,
            "contentType": "text/plain",
            "contentLength": len(content),
            "url": f"{base_url.rstrip('/')}{STORE}/{id_}",
            "urlExpiry": moments.write(now + HOUR),
            "uploadedAt": moments.write(uploaded),
        }

    def content(self, id_: str) -> bytes:
        """The text's bytes, or a 404."""
        return self._find(id_)[0]

    def _find(self, id_: str) -> tuple[bytes, int]:
        if id_ not in self._texts:
            raise answers.missing("Media asset not found")
        return self._texts[id_]
