"""What can be wrong with a database, as one-line errors for people; SQLite's own stay inside the store."""


class StoreError(Exception):
    """The database cannot be used; the text is one line that says what is wrong and what to do."""


class NewerSchema(StoreError):
    """A newer Remindi wrote this database."""


class AlteredSchema(StoreError):
    """The ledger of migrations is not ours."""


class ForeignDatabase(StoreError):
    """The file is the database of another program."""


class Damaged(StoreError):
    """The file is no database, or a check of it failed."""


class BadControlRow(StoreError):
    """A control table holds a row that no Remindi wrote."""


class StorageFailed(StoreError):
    """Reading or writing failed below SQLite: disk full, input/output error, no permission."""


class Busy(StoreError):
    """The database stayed locked for the whole busy timeout."""
