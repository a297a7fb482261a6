"""The observations of one project in the order of the events table: by start time, trace hash and id.

Rows with the same key replace each other. New rows wait in a short list until somebody reads.
The indexes by id and by trace are built when the first reader asks for them.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator

from hunkwatch.sandbox.rows import Context, Row

_FEW = 512


class Shelf:
    """A sorted list of rows."""

    def __init__(self) -> None:
        """Start empty."""
        self._rows: list[Row] = []
        self._waiting: list[Row] = []
        self._by_id: dict[str, Row] | None = None
        self._more_by_id: dict[str, list[Row]] = {}
        self._by_trace: dict[str, list[Row]] | None = None
        self._contexts: dict[Context, Context] = {}
        self.hidden_until = 0
        self.hidden_until_v1 = 0
        self._edition = 0
        self._last: tuple[tuple[str, int, bool], list[Row]] | None = None

    def __len__(self) -> int:
        """Count the rows, seen or not."""
        self._settle()
        return len(self._rows)

    def share(self, context: Context) -> Context:
        """The one object that stands for this context."""
        return self._contexts.setdefault(context, context)

    def add(self, rows: Iterable[Row]) -> None:
        """Take rows in; they are in order when the next reader comes."""
        self._edition += 1
        for row in rows:
            self._waiting.append(row)
            self.hidden_until = max(self.hidden_until, row.seen)
            self.hidden_until_v1 = max(self.hidden_until_v1, row.seen_v1)

    def newest_first(self, low: int | None, below: tuple[int, int, str] | None) -> Iterator[Row]:
        """Rows with a start of at least ``low`` whose key is under ``below``, the newest first."""
        self._settle()
        rows = self._rows
        at = len(rows) if below is None else bisect_left(rows, below, key=_key)
        while at > 0:
            at -= 1
            row = rows[at]
            if low is not None and row.start < low:
                return
            yield row

    def with_ids(self, ids: Iterable[str]) -> list[Row]:
        """Rows with one of these ids, the newest first."""
        self._settle()
        if self._by_id is None:
            self._by_id, self._more_by_id = {}, {}
            for row in self._rows:
                self._index_id(row, self._by_id)
        known = [id_ for id_ in set(ids) if id_ in self._by_id]
        found = [self._by_id[id_] for id_ in known]
        found += [row for id_ in known for row in self._more_by_id.get(id_, ())]
        return sorted(found, key=_key, reverse=True)

    def of_traces(self, traces: Iterable[str]) -> list[Row]:
        """Rows of one of these traces, the newest first."""
        self._settle()
        if self._by_trace is None:
            self._by_trace = {}
            for row in self._rows:
                self._by_trace.setdefault(row.trace, []).append(row)
        return sorted((row for trace in set(traces) for row in self._by_trace.get(trace, ())), key=_key, reverse=True)

    def traces(self) -> list[str]:
        """The ids of all traces."""
        self.of_traces(())
        return list(self._by_trace or ())

    def remembered(self, question: str, now: int, find: Callable[[], list[Row]]) -> list[Row]:
        """The rows that answer a question, kept until rows come in or come into view, for the pages after the first."""
        asked = question, self._edition, now >= self.hidden_until_v1
        if self._last is None or self._last[0] != asked or not asked[2]:
            self._last = asked, find()
        return self._last[1]

    def _settle(self) -> None:
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        if len(waiting) > _FEW:
            rows = sorted([*self._rows, *waiting], key=_key)
            self._rows = [row for row, after in zip(rows, [*rows[1:], None], strict=True) if after is None or row.key != after.key]
            self._by_id = self._by_trace = None
            return
        for row in waiting:
            self._insert(row)

    def _insert(self, row: Row) -> None:
        key = row.key
        at = bisect_left(self._rows, key, key=_key)
        if at < len(self._rows) and self._rows[at].key == key:
            self._replace(self._rows[at], row)
            self._rows[at] = row
            return
        self._rows.insert(at, row)
        if self._by_id is not None:
            self._index_id(row, self._by_id)
        if self._by_trace is not None:
            self._by_trace.setdefault(row.trace, []).append(row)

    def _replace(self, old: Row, new: Row) -> None:
        if self._by_id is not None and self._by_id[old.id] is old:
            self._by_id[old.id] = new
        elif self._by_id is not None:
            more = self._more_by_id[old.id]
            more[more.index(old)] = new
        if self._by_trace is not None:
            rows = self._by_trace[old.trace]
            rows[rows.index(old)] = new

    def _index_id(self, row: Row, index: dict[str, Row]) -> None:
        if row.id in index:
            self._more_by_id.setdefault(row.id, []).append(row)
        else:
            index[row.id] = row


def _key(row: Row) -> tuple[int, int, str]:
    return row.key
