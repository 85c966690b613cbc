-- `game_sessions.slot_released_at` alone says who owns a slot. The column and the trigger served versions before 0.1.0.
DROP TRIGGER game_sessions_former_owner ON game_sessions;
DROP FUNCTION release_former_owner();
ALTER TABLE save_slots DROP COLUMN pending_session;
