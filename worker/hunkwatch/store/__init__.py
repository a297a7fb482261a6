"""The adapter to what survives: ledger, outbox and watermark on SQLite or Postgres."""
