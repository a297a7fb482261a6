"""The adapter to what survives: ledger, outbox and watermark on SQLite or Postgres.

``open_store`` for the process that works, ``open_for_reading`` for one that looks, ``copy_state`` for backups and dry runs,
``migrate_state`` for a move into another database, ``reset_state`` for a state that is beyond repair.
"""

from hunkwatch.store.moving import migrate_state
from hunkwatch.store.opening import copy_state, open_for_reading, open_store, reset_state
from hunkwatch.store.store import SqlStore

__all__ = ["SqlStore", "copy_state", "migrate_state", "open_for_reading", "open_store", "reset_state"]
