-- One-time links to copies of saves. Only a digest of the token is stored.
CREATE TABLE save_links (
    id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    slot_id TEXT NOT NULL,
    version_id TEXT NOT NULL,
    created_at TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    expires_at TIMESTAMPTZ(3) NOT NULL,
    CONSTRAINT save_links_pkey PRIMARY KEY (id)
);
CREATE INDEX save_links_user_id_created_at_idx ON save_links (user_id, created_at);
CREATE INDEX save_links_slot_id_idx ON save_links (slot_id);
CREATE INDEX save_links_expires_at_idx ON save_links (expires_at);
ALTER TABLE save_links ADD CONSTRAINT save_links_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
    ON UPDATE CASCADE ON DELETE CASCADE;
ALTER TABLE save_links ADD CONSTRAINT save_links_slot_id_fkey FOREIGN KEY (slot_id) REFERENCES save_slots(id)
    ON UPDATE CASCADE ON DELETE CASCADE;
