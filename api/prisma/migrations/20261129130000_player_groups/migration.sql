-- Groups of players, and games that only the members of some groups see.
CREATE TABLE player_groups (
    id TEXT NOT NULL DEFAULT gen_random_uuid()::text,
    name TEXT NOT NULL,
    created_at TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
    CONSTRAINT player_groups_pkey PRIMARY KEY (id)
);
CREATE UNIQUE INDEX player_groups_name_key ON player_groups (name);
CREATE TABLE player_group_members (
    group_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    created_at TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
    CONSTRAINT player_group_members_pkey PRIMARY KEY (group_id, user_id)
);
CREATE INDEX player_group_members_user_id_idx ON player_group_members (user_id);
CREATE TABLE game_groups (
    game_id TEXT NOT NULL,
    group_id TEXT NOT NULL,
    CONSTRAINT game_groups_pkey PRIMARY KEY (game_id, group_id)
);
CREATE INDEX game_groups_group_id_idx ON game_groups (group_id);
ALTER TABLE player_group_members ADD CONSTRAINT player_group_members_group_id_fkey FOREIGN KEY (group_id)
    REFERENCES player_groups(id) ON UPDATE CASCADE ON DELETE CASCADE;
ALTER TABLE player_group_members ADD CONSTRAINT player_group_members_user_id_fkey FOREIGN KEY (user_id)
    REFERENCES users(id) ON UPDATE CASCADE ON DELETE CASCADE;
ALTER TABLE game_groups ADD CONSTRAINT game_groups_game_id_fkey FOREIGN KEY (game_id)
    REFERENCES games(id) ON UPDATE CASCADE ON DELETE CASCADE;
ALTER TABLE game_groups ADD CONSTRAINT game_groups_group_id_fkey FOREIGN KEY (group_id)
    REFERENCES player_groups(id) ON UPDATE CASCADE ON DELETE CASCADE;
-- Not derived from game_groups: a game stays restricted when its last group is deleted.
ALTER TABLE games ADD COLUMN is_restricted BOOLEAN NOT NULL DEFAULT false;
CREATE INDEX games_restricted_idx ON games (id) WHERE is_restricted;
