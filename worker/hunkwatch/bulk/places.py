"""Which files a source names, and how a file is opened and written: local paths, ``s3://`` and whatever else fsspec knows."""

from __future__ import annotations

import gzip
from contextlib import contextmanager
from hashlib import sha256
from pathlib import PurePosixPath
from typing import IO, TYPE_CHECKING, BinaryIO, NamedTuple, cast

import fsspec

from hunkwatch.errors import Exit, Halt
from hunkwatch.langfuse.wire import exports

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

FORMATS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json", ".csv": "csv", ".parquet": "parquet"}
_GZIP = b"\x1f\x8b"
_SNIFFED = 4096


class Source(NamedTuple):
    """One file of an export. ``stamp`` changes when the file does."""

    url: str
    table: str
    """``observations`` or ``traces``."""
    size: int
    stamp: str

    @property
    def key(self) -> str:
        """Return a name for what is kept of this file: readable, and unique by its address."""
        stem = "".join(character if character.isalnum() else "-" for character in PurePosixPath(self.url).name)[:60]
        return f"{stem}-{sha256(self.url.encode()).hexdigest()[:16]}"


class Folder:
    """A place to keep results, local or remote. A file appears whole or not at all."""

    def __init__(self, url: str) -> None:
        """Name it; nothing is opened."""
        self.url = url.rstrip("/")

    def path(self, *names: str) -> str:
        """Return the address of something in it."""
        return "/".join((self.url, *names))

    def write(self, name: str, fill: Callable[[IO[bytes]], None]) -> None:
        """Write a file under a name of its own, then put it in place."""
        fs, path = fsspec.core.url_to_fs(self.path(name))
        fs.makedirs(str(PurePosixPath(path).parent), exist_ok=True)
        aside = f"{path}.part"
        with fs.open(aside, "wb") as stream:
            fill(cast("IO[bytes]", stream))
        fs.mv(aside, path)

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        """Open a file of it; raises FileNotFoundError."""
        fs, path = fsspec.core.url_to_fs(self.path(name))
        with fs.open(path, "rb") as stream:
            yield cast("BinaryIO", stream)

    def names(self, under: str, suffix: str) -> list[str]:
        """Return the names of the files under one of its folders, sorted."""
        fs, path = fsspec.core.url_to_fs(self.path(under))
        if not fs.exists(path):
            return []
        found = (PurePosixPath(each).name for each in fs.ls(path, detail=False))
        return sorted(f"{under}/{name}" for name in found if name.endswith(suffix))

    def remove(self, name: str) -> None:
        """Remove a file of it."""
        fs, path = fsspec.core.url_to_fs(self.path(name))
        fs.rm(path)


def sources(given: Sequence[str], *, but: str) -> list[Source]:
    """Return the files that hold observations or traces, sorted: files, folders with all below, and patterns. ``but``: our own results.

    Raises Halt when a place cannot be looked at or holds nothing to read.
    """
    found: dict[str, Source] = {}
    for each in given:
        for source in _below(each, but=but):
            found.setdefault(source.url, source)
    if not found:
        raise Halt(
            "no export files there", mend="Name a .jsonl, .json, .csv or .parquet file, or a folder with such files.", exit_code=Exit.USAGE
        )
    return sorted(found.values())


@contextmanager
def opened(source: Source) -> Iterator[tuple[BinaryIO, str]]:
    """Open a file, unpacked where it is packed, with its format. Raises OSError when it cannot be read."""
    fs, path = fsspec.core.url_to_fs(source.url)
    with fs.open(path, "rb") as raw:
        stream = cast("BinaryIO", raw)
        head = stream.read(_SNIFFED)
        stream.seek(0)
        if not head.startswith(_GZIP):
            yield stream, _format(source.url, head)
            return
        with gzip.open(stream) as unpacked:
            head = unpacked.peek(_SNIFFED)[:_SNIFFED]
            yield cast("BinaryIO", unpacked), _format(source.url, head)


def _below(given: str, *, but: str) -> Iterator[Source]:
    try:
        fs, path = fsspec.core.url_to_fs(given)
        ours = fsspec.core.url_to_fs(but)[1].rstrip("/") + "/"
        if any(character in path for character in "*?[") and not fs.exists(path):
            details, named = fs.glob(path, detail=True), True
        elif fs.isfile(path):
            details, named = {path: fs.info(path)}, True
        else:
            details, named = fs.find(path, detail=True), False
    except (OSError, ValueError, ImportError) as error:
        raise Halt(f"cannot look at {given}: {_why(error)}", mend="Check the address and its access.", exit_code=Exit.USAGE) from error
    for name, info in details.items():
        table = exports.FOLDERS.get(PurePosixPath(name).parent.name, "observations")
        if info.get("type") != "file" or name.startswith(ours) or not table:
            continue
        if named or _suffix(name) in FORMATS:
            stamp = info.get("ETag") or info.get("mtime") or info.get("LastModified") or ""
            yield Source(fs.unstrip_protocol(name), table, int(info.get("size") or 0), str(stamp))


def _why(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or type(error).__name__


def _suffix(name: str) -> str:
    return PurePosixPath(name.removesuffix(".gz")).suffix.lower()


def _format(name: str, head: bytes) -> str:
    """Tell a format by the name; by the content where the name does not say."""
    if head.startswith(b"PAR1"):
        return "parquet"
    if known := FORMATS.get(_suffix(name)):
        return known
    begin = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    return {b"[": "json", b"{": "jsonl"}.get(begin, "csv")
