-- Players' own pictures, which are small, and accounts that their players want deleted.
CREATE TABLE user_pictures (
    id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    type TEXT NOT NULL,
    content BYTEA NOT NULL,
    created_at TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
    CONSTRAINT user_pictures_pkey PRIMARY KEY (id)
);
CREATE UNIQUE INDEX user_pictures_user_id_key ON user_pictures (user_id);
ALTER TABLE user_pictures ADD CONSTRAINT user_pictures_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
    ON UPDATE CASCADE ON DELETE CASCADE;
ALTER TABLE users ADD COLUMN delete_at TIMESTAMPTZ(3);
CREATE INDEX users_delete_at_idx ON users (delete_at) WHERE delete_at IS NOT NULL;
