-- Administration: what people ask of all items at once. Counters that never scan, an index of words, and one
-- for each order of their lists.

-- Whether an item is over. By the two instants and not by the state, so that an evaluation, which rewrites the
-- state and never these, leaves the index alone.
ALTER TABLE item ADD COLUMN ended INTEGER
    GENERATED ALWAYS AS (completed_at IS NOT NULL OR cancelled_at IS NOT NULL) VIRTUAL;
-- The most urgent first.
ALTER TABLE item ADD COLUMN rank INTEGER GENERATED ALWAYS AS (3 - priority) VIRTUAL;

-- Both orders of a list that are not its creation: a range by rank and fire time, or four merged by fire time.
CREATE INDEX item_sorted ON item (owner, ended, rank, upcoming);
-- Manual checks to come: `wake` of a scheduled condition is nearly always its next probe.
CREATE INDEX item_manual_check ON item (owner, manual_check_at) WHERE state = 0 AND manual_check_at IS NOT NULL;

-- Words of message and instructions. Only whether an item holds a word is kept, not where: a third of the size.
CREATE VIRTUAL TABLE search USING fts5 (
    message, instructions,
    content = 'body', content_rowid = 'key', detail = none, tokenize = 'unicode61 remove_diacritics 2'
);
INSERT INTO search (search) VALUES ('rebuild');

-- How many items stand where; `standing` is the state, or 6 for due items to be verified by hand.
CREATE TABLE item_count (
    owner INTEGER NOT NULL REFERENCES name (id),
    standing INTEGER NOT NULL CHECK (standing BETWEEN 0 AND 6),
    count INTEGER NOT NULL,
    PRIMARY KEY (owner, standing)
) STRICT, WITHOUT ROWID;
INSERT INTO item_count (owner, standing, count)
SELECT owner, iif(state = 1 AND trigger_type = 6 AND last_condition_status IS NOT 0, 6, state), count(*)
FROM item GROUP BY 1, 2;

-- What each UTC day brought; `day` counts from 1970-01-01.
CREATE TABLE daily (
    owner INTEGER NOT NULL REFERENCES name (id),
    day INTEGER NOT NULL,
    created INTEGER NOT NULL DEFAULT 0,
    due INTEGER NOT NULL DEFAULT 0,
    completed INTEGER NOT NULL DEFAULT 0,
    cancelled INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (owner, day)
) STRICT, WITHOUT ROWID;
-- An item became due unless it came back from a snooze: unless, of the events that move it, a snooze was the last.
INSERT INTO daily (owner, day, created, due, completed, cancelled)
SELECT item.owner, event.occurred_at / 86400000, sum(event.type = 0),
    sum(event.type = 1 AND (
        SELECT earlier.type FROM event AS earlier
        WHERE earlier.key < event.key AND earlier.key > (item.key << 24) AND (
            earlier.type IN (0, 1, 2, 4, 6)
            OR (earlier.type = 5 AND EXISTS (
                SELECT 1 FROM json_each(earlier.details, '$.changed_fields') WHERE value = 'trigger'
            ))
        )
        ORDER BY earlier.key DESC LIMIT 1
    ) IS NOT 4),
    sum(event.type = 7), sum(event.type = 8)
FROM event CROSS JOIN item ON item.key = event.key >> 24
WHERE event.type IN (0, 1, 7, 8)
GROUP BY 1, 2;

-- Time from due to done of the items completed on a day. A bucket is a second wide below eight seconds, and
-- from there on each doubling has four: the bucket of s seconds is 4o + (s >> o), with o so that s >> o < 8.
CREATE TABLE due_to_done (
    owner INTEGER NOT NULL REFERENCES name (id),
    day INTEGER NOT NULL,
    bucket INTEGER NOT NULL CHECK (bucket >= 0),
    count INTEGER NOT NULL,
    PRIMARY KEY (owner, day, bucket)
) STRICT, WITHOUT ROWID;
WITH RECURSIVE
    octave (o) AS (SELECT 1 UNION ALL SELECT o + 1 FROM octave WHERE o < 60),
    done (owner, day, seconds) AS (
        SELECT owner, completed_at / 86400000, max(0, completed_at - due_since) / 1000
        FROM item WHERE state = 4 AND due_since IS NOT NULL
    )
INSERT INTO due_to_done (owner, day, bucket, count)
SELECT owner, day, 4 * o + (seconds >> o), count(*)
FROM (SELECT owner, day, seconds, ifnull((SELECT max(o) FROM octave WHERE seconds >> o > 3), 0) AS o FROM done)
GROUP BY 1, 2, 3;
