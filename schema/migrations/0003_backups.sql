-- Backups: what the database knows of the files in the backup directory, and which content this is.

CREATE TABLE backup (
    key INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    source TEXT NOT NULL CHECK (source IN ('manual', 'automatic', 'upload', 'pre_restore')),
    status TEXT NOT NULL CHECK (status IN ('ready', 'expired', 'invalid')),
    sha256 TEXT NOT NULL CHECK (length(sha256) = 64),
    size_bytes INTEGER NOT NULL CHECK (size_bytes > 0),
    schema_version INTEGER NOT NULL CHECK (schema_version > 0),
    created_at INTEGER NOT NULL,
    verified_at INTEGER NOT NULL,
    created_by TEXT NOT NULL CHECK (length(created_by) BETWEEN 1 AND 256),
    -- How many items it held when it was verified.
    items INTEGER NOT NULL CHECK (items >= 0)
) STRICT;
CREATE INDEX backup_created ON backup (created_at);

-- Another one after each restore: what was read of one content is never mixed with another.
CREATE TABLE generation (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    value BLOB NOT NULL CHECK (length(value) = 16)
) STRICT;
INSERT INTO generation (id, value) VALUES (1, randomblob(16));
