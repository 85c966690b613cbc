-- Uploads in chunks. The object store has the chunks: whole parts of a multipart upload, and a tail.
CREATE TABLE resumable_uploads (
    id TEXT NOT NULL,
    game_id TEXT NOT NULL,
    object_key TEXT NOT NULL,
    multipart_id TEXT,
    length BIGINT NOT NULL,
    metadata TEXT NOT NULL,
    received BIGINT NOT NULL DEFAULT 0,
    tail_key TEXT,
    state TEXT NOT NULL DEFAULT 'receiving',
    writer TEXT,
    renewed_at TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    checks INTEGER NOT NULL DEFAULT 0,
    key_id TEXT NOT NULL,
    address TEXT NOT NULL,
    request_id TEXT NOT NULL,
    outcome JSONB,
    created_at TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    expires_at TIMESTAMPTZ(3) NOT NULL,
    CONSTRAINT resumable_uploads_state CHECK (state IN ('receiving', 'checking', 'done', 'refused', 'ended')),
    CONSTRAINT resumable_uploads_received CHECK (received BETWEEN 0 AND length),
    CONSTRAINT resumable_uploads_pkey PRIMARY KEY (id),
    CONSTRAINT resumable_uploads_game_id_fkey FOREIGN KEY (game_id) REFERENCES games (id) ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX resumable_uploads_object_key_key ON resumable_uploads (object_key);
CREATE INDEX resumable_uploads_game_id_idx ON resumable_uploads (game_id);
CREATE INDEX resumable_uploads_expires_at_idx ON resumable_uploads (expires_at);

-- Parts that the object store has acknowledged.
CREATE TABLE resumable_upload_parts (
    upload_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    etag TEXT NOT NULL,
    CONSTRAINT resumable_upload_parts_pkey PRIMARY KEY (upload_id, number),
    CONSTRAINT resumable_upload_parts_upload_id_fkey FOREIGN KEY (upload_id) REFERENCES resumable_uploads (id) ON DELETE CASCADE ON UPDATE CASCADE
);
