-- Launches that wait for a seat. A row is in the queue while it has a number; a lower number is an earlier arrival.
ALTER TABLE game_sessions ADD COLUMN queue_number BIGINT;
ALTER TABLE game_sessions ADD COLUMN queued_at TIMESTAMPTZ(3);
ALTER TABLE game_sessions ADD COLUMN offered_at TIMESTAMPTZ(3);
ALTER TABLE game_sessions ADD COLUMN passed_at TIMESTAMPTZ(3);
CREATE SEQUENCE game_queue_numbers;
CREATE UNIQUE INDEX game_sessions_queue ON game_sessions (queue_number)
    WHERE queue_number IS NOT NULL;
-- Recent ends, from which waits are estimated.
CREATE INDEX game_sessions_recorded ON game_sessions (recorded_at)
    WHERE recorded_at IS NOT NULL;

-- A single row: when the queue was last served, and what its waits are estimated from.
CREATE TABLE game_queue (
    id INTEGER NOT NULL DEFAULT 1,
    served_at TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    measured_at TIMESTAMPTZ(3),
    seats INTEGER NOT NULL DEFAULT 0,
    ends INTEGER NOT NULL DEFAULT 0,
    played_seconds DOUBLE PRECISION NOT NULL DEFAULT 0,
    seated INTEGER NOT NULL DEFAULT 0,
    abandoned INTEGER NOT NULL DEFAULT 0,
    CONSTRAINT game_queue_pkey PRIMARY KEY (id)
);
INSERT INTO game_queue (id) VALUES (1);
