-- What happened to somebody is looked for as what somebody did.
CREATE INDEX "audit_events_subject_kind_subject_id_at_idx" ON "audit_events"("subject_kind", "subject_id", "at");
