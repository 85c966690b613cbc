-- The newest connection of a player to the stream: only the page that has it can leave the session.
ALTER TABLE game_sessions ADD COLUMN stream_connection TEXT;
