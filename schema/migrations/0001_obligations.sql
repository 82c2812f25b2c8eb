-- Obligations: items, what their callers wrote, their history, and the control tables.
-- Instants are integer milliseconds since 1970 (UTC); identifiers are 16-byte UUIDv7 blobs; enumerations
-- are the integers of the domain. Every index of an item leads with its owner, and row keys rise with
-- creation, so "id ascending" is "key ascending" everywhere.

-- Names that repeat: owners, projects, tasks, actors, and what context triggers wait for.
CREATE TABLE name (
    id INTEGER PRIMARY KEY,
    text TEXT NOT NULL UNIQUE
) STRICT;

-- Number of the newest committed write: each change of the database has one, and they rise.
CREATE TABLE change_counter (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    value INTEGER NOT NULL CHECK (value >= 0)
) STRICT;
INSERT INTO change_counter (id, value) VALUES (1, 0);

-- The narrow part of an item, rewritten by every change of state.
CREATE TABLE item (
    key INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    owner INTEGER NOT NULL REFERENCES name (id),
    project INTEGER NOT NULL REFERENCES name (id),
    task INTEGER REFERENCES name (id),
    state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 5),
    priority INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 3),
    trigger_type INTEGER NOT NULL CHECK (trigger_type BETWEEN 0 AND 6),
    -- The session, lineage or goal that a context trigger is compared with.
    waits_for INTEGER REFERENCES name (id),
    next_fire_at INTEGER CHECK ((next_fire_at IS NULL) = (trigger_type > 2)),
    original_next_fire_at INTEGER,
    next_evaluation_at INTEGER,
    manual_check_at INTEGER,
    poll_interval_seconds INTEGER CHECK (poll_interval_seconds BETWEEN 30 AND 86400),
    due_since INTEGER CHECK (state NOT IN (1, 2, 3) OR due_since IS NOT NULL),
    snooze_until INTEGER CHECK ((snooze_until IS NOT NULL) = (state = 3)),
    snoozed_from_state INTEGER
        CHECK (snoozed_from_state IN (1, 2)) CHECK ((snoozed_from_state IS NOT NULL) = (state = 3)),
    last_checked_at INTEGER,
    completed_at INTEGER CHECK ((completed_at IS NOT NULL) = (state = 4)),
    cancelled_at INTEGER CHECK ((cancelled_at IS NOT NULL) = (state = 5)),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    overdue_after_seconds INTEGER NOT NULL CHECK (overdue_after_seconds BETWEEN 0 AND 31536000),
    occurrence_no INTEGER NOT NULL CHECK (occurrence_no >= 1),
    snooze_count INTEGER NOT NULL CHECK (snooze_count >= 0),
    version INTEGER NOT NULL CHECK (version >= 1),
    event_count INTEGER NOT NULL CHECK (event_count >= 1),
    last_condition_status INTEGER CHECK (last_condition_status BETWEEN 0 AND 3),
    last_condition_detail TEXT,
    -- Number of the write that entered the present state: orders it against the start of a walk.
    state_change INTEGER NOT NULL CHECK (state_change >= 0),
    -- The same of the write that last turned it from scheduled to due: due_since is no witness, clocks jump.
    due_change INTEGER NOT NULL CHECK (due_change >= 0),
    -- When grace ends.
    overdue_at INTEGER GENERATED ALWAYS AS (due_since + overdue_after_seconds * 1000) VIRTUAL,
    -- The instant at which time alone next changes the item; null when never.
    wake INTEGER GENERATED ALWAYS AS (
        CASE state
            WHEN 0 THEN CASE
                WHEN trigger_type <= 2 THEN next_fire_at
                WHEN trigger_type = 6 THEN min(next_evaluation_at, ifnull(manual_check_at, next_evaluation_at))
            END
            WHEN 1 THEN due_since + overdue_after_seconds * 1000
            WHEN 3 THEN snooze_until
        END
    ) VIRTUAL,
    -- The order of ready items by their stored state: rank, priority, fire time (nulls last); null unless ready.
    ready INTEGER GENERATED ALWAYS AS (
        CASE state
            WHEN 2 THEN 0
            WHEN 1 THEN CASE WHEN trigger_type = 6 AND last_condition_status IS NOT 0 THEN 2 ELSE 1 END
        END * 4503599627370496
        + (3 - priority) * 1125899906842624
        + ifnull(next_fire_at + 140737488355328, 1125899906842623)
    ) VIRTUAL,
    -- The order of items that are not ready: fire time, nulls last.
    upcoming INTEGER GENERATED ALWAYS AS (ifnull(next_fire_at + 140737488355328, 1125899906842623)) VIRTUAL
) STRICT;

CREATE INDEX item_all ON item (owner, created_at DESC);
CREATE INDEX item_project ON item (owner, project, created_at DESC);
CREATE INDEX item_task ON item (owner, task, created_at DESC) WHERE task IS NOT NULL;
CREATE INDEX item_active ON item (owner, created_at DESC) WHERE completed_at IS NULL AND cancelled_at IS NULL;
CREATE INDEX item_project_active ON item (owner, project, created_at DESC)
    WHERE completed_at IS NULL AND cancelled_at IS NULL;
CREATE INDEX item_ready ON item (owner, project, ready) WHERE ready IS NOT NULL;
CREATE INDEX item_ready_since ON item (owner, project, state_change) WHERE state IN (1, 2);
CREATE INDEX item_wake ON item (owner, wake) WHERE wake IS NOT NULL;
CREATE INDEX item_project_wake ON item (owner, project, wake) WHERE wake IS NOT NULL;
CREATE INDEX item_context ON item (owner, project, trigger_type, waits_for)
    WHERE state = 0 AND trigger_type IN (3, 4, 5);
CREATE INDEX item_upcoming ON item (owner, project, upcoming) WHERE state IN (0, 3);

-- What the caller wrote; rewritten by updates only.
CREATE TABLE body (
    key INTEGER PRIMARY KEY REFERENCES item (key),
    message TEXT NOT NULL,
    instructions TEXT,
    session_id TEXT,
    task_lineage_id TEXT,
    trigger_fields TEXT NOT NULL CHECK (json_valid(trigger_fields)),
    recurrence_fields TEXT CHECK (recurrence_fields IS NULL OR json_valid(recurrence_fields))
) STRICT;

-- Links in their order. Project and creation are repeated from the item, so that a filter by goal or
-- memory is one range scan in the order of the list.
CREATE TABLE link (
    item INTEGER NOT NULL REFERENCES item (key),
    position INTEGER NOT NULL CHECK (position BETWEEN 0 AND 99),
    type INTEGER NOT NULL CHECK (type BETWEEN 0 AND 4),
    value TEXT NOT NULL,
    project INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (item, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX link_project ON link (type, value, project, created_at DESC, item) WHERE type IN (0, 1);
CREATE INDEX link_value ON link (type, value, created_at DESC, item) WHERE type IN (0, 1);

-- History, clustered by item: key = item key << 24 | sequence within the item.
CREATE TABLE event (
    key INTEGER PRIMARY KEY,
    item INTEGER GENERATED ALWAYS AS (key >> 24) VIRTUAL NOT NULL REFERENCES item (key),
    id BLOB NOT NULL CHECK (length(id) = 16),
    type INTEGER NOT NULL CHECK (type BETWEEN 0 AND 12),
    actor_type INTEGER NOT NULL CHECK (actor_type BETWEEN 0 AND 3),
    actor INTEGER NOT NULL REFERENCES name (id),
    request_id TEXT,
    occurred_at INTEGER NOT NULL,
    prior_version INTEGER CHECK (prior_version >= 1),
    new_version INTEGER CHECK (new_version >= 1),
    details TEXT NOT NULL CHECK (json_valid(details))
) STRICT;

CREATE TABLE evidence (
    item INTEGER PRIMARY KEY REFERENCES item (key),
    id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    type INTEGER NOT NULL CHECK (type BETWEEN 0 AND 6),
    summary TEXT NOT NULL,
    reference_uri TEXT,
    content_hash TEXT,
    observed_at INTEGER NOT NULL,
    recorded_at INTEGER NOT NULL,
    recorded_by INTEGER NOT NULL REFERENCES name (id),
    metadata TEXT CHECK (metadata IS NULL OR json_valid(metadata)),
    CHECK (reference_uri IS NOT NULL OR content_hash IS NOT NULL)
) STRICT;

CREATE TRIGGER item_stays BEFORE DELETE ON item BEGIN SELECT raise(ABORT, 'items are never deleted'); END;
CREATE TRIGGER event_is_final BEFORE UPDATE ON event BEGIN SELECT raise(ABORT, 'events are never edited'); END;
CREATE TRIGGER event_stays BEFORE DELETE ON event BEGIN SELECT raise(ABORT, 'events are never deleted'); END;
CREATE TRIGGER evidence_is_final BEFORE UPDATE ON evidence
    BEGIN SELECT raise(ABORT, 'evidence is never edited'); END;
CREATE TRIGGER evidence_stays BEFORE DELETE ON evidence
    BEGIN SELECT raise(ABORT, 'evidence is never deleted'); END;

-- Idempotency: found by a 63-bit hash of (actor, tool, key), confirmed by the whole hash.
CREATE TABLE idempotency (
    key INTEGER PRIMARY KEY,
    lookup INTEGER NOT NULL,
    scope BLOB NOT NULL CHECK (length(scope) = 32),
    request BLOB NOT NULL CHECK (length(request) = 32),
    grace INTEGER,
    grace_given INTEGER NOT NULL CHECK (grace_given IN (0, 1)),
    created_at INTEGER NOT NULL,
    answer TEXT NOT NULL CHECK (json_valid(answer))
) STRICT;
CREATE INDEX idempotency_lookup ON idempotency (lookup);
CREATE INDEX idempotency_created ON idempotency (created_at);

CREATE TABLE setting (
    key TEXT PRIMARY KEY,
    value INTEGER NOT NULL,
    version INTEGER NOT NULL CHECK (version >= 1),
    updated_at INTEGER NOT NULL,
    updated_by TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE adapter (
    name TEXT PRIMARY KEY,
    enabled INTEGER NOT NULL CHECK (enabled IN (0, 1)),
    configuration TEXT NOT NULL CHECK (json_valid(configuration)),
    version INTEGER NOT NULL CHECK (version >= 1),
    updated_at INTEGER NOT NULL,
    updated_by TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE workload (
    component TEXT PRIMARY KEY CHECK (component IN ('mcp', 'scheduler')),
    desired TEXT NOT NULL CHECK (desired IN ('running', 'stopped')),
    version INTEGER NOT NULL CHECK (version >= 1),
    updated_at INTEGER NOT NULL,
    updated_by TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE lease (
    name TEXT PRIMARY KEY,
    holder TEXT NOT NULL,
    acquired_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    version INTEGER NOT NULL CHECK (version >= 1)
) STRICT, WITHOUT ROWID;

-- Administration events (contract 13.2).
CREATE TABLE audit (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    id BLOB NOT NULL CHECK (length(id) = 16),
    type TEXT NOT NULL,
    actor TEXT NOT NULL,
    request_id TEXT,
    occurred_at INTEGER NOT NULL,
    outcome TEXT NOT NULL CHECK (outcome IN ('succeeded', 'rejected', 'failed')),
    details TEXT NOT NULL CHECK (json_valid(details))
) STRICT;
CREATE TRIGGER audit_is_final BEFORE UPDATE ON audit BEGIN SELECT raise(ABORT, 'audit rows are never edited'); END;
