-- One-time links: invitations, password resets and confirmations of addresses. Only a digest of the token is stored.
CREATE TYPE account_link_purpose AS ENUM ('invitation', 'password_reset', 'confirmation', 'email_change');
CREATE TABLE account_links (
    id TEXT NOT NULL,
    purpose account_link_purpose NOT NULL,
    email TEXT NOT NULL,
    user_id TEXT,
    created_at TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
    expires_at TIMESTAMPTZ(3) NOT NULL,
    CONSTRAINT account_links_pkey PRIMARY KEY (id)
);
CREATE INDEX account_links_email_idx ON account_links (email);
CREATE INDEX account_links_user_id_idx ON account_links (user_id);
CREATE INDEX account_links_expires_at_idx ON account_links (expires_at);
ALTER TABLE account_links ADD CONSTRAINT account_links_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
    ON UPDATE CASCADE ON DELETE CASCADE;
-- An account that its player opened and has not confirmed: it cannot sign in, and is deleted after this time.
ALTER TABLE users ADD COLUMN confirm_by TIMESTAMPTZ(3);
CREATE INDEX users_confirm_by_idx ON users (confirm_by) WHERE confirm_by IS NOT NULL;
