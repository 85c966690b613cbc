-- Pictures of saves, by the object that they belong to: several versions may name one object. The slot may be gone.
CREATE TABLE save_pictures (
    object_key TEXT NOT NULL,
    slot_id TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    stored_at TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT save_pictures_pkey PRIMARY KEY (object_key)
);
CREATE INDEX save_pictures_slot_id_idx ON save_pictures (slot_id);
-- Play time of the save that a slot began with, such as a copy of another slot.
ALTER TABLE save_slots ADD COLUMN prior_play_seconds DOUBLE PRECISION NOT NULL DEFAULT 0;
