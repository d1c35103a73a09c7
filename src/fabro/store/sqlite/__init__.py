"""Runs and events in one SQLite file. Above: assembly. Below: the store's port, codec and blobs."""

from fabro.store.sqlite.store import SqliteStore, open_sqlite

__all__ = ["SqliteStore", "open_sqlite"]
