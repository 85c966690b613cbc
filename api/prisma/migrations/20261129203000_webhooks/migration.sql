-- Addresses that receive the events of a partner's games.
CREATE TABLE webhook_endpoints (
    id TEXT NOT NULL,
    partner_id TEXT NOT NULL,
    url TEXT NOT NULL,
    description TEXT NOT NULL DEFAULT '',
    events TEXT[] DEFAULT ARRAY[]::TEXT[],
    secret TEXT NOT NULL,
    previous_secret TEXT,
    previous_secret_until TIMESTAMPTZ(3),
    disabled_at TIMESTAMPTZ(3),
    disabled_reason TEXT,
    last_success_at TIMESTAMPTZ(3),
    failing_since TIMESTAMPTZ(3),
    dropped_events INTEGER NOT NULL DEFAULT 0,
    created_at TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT webhook_endpoints_pkey PRIMARY KEY (id),
    CONSTRAINT webhook_endpoints_partner_id_fkey FOREIGN KEY (partner_id) REFERENCES partners (id) ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX webhook_endpoints_partner_id_idx ON webhook_endpoints (partner_id);

-- Events on their way, written in the transaction of what happened. Any replica sends them.
CREATE TYPE webhook_delivery_status AS ENUM ('pending', 'succeeded', 'failed');
CREATE TABLE webhook_deliveries (
    id TEXT NOT NULL,
    endpoint_id TEXT NOT NULL,
    number BIGSERIAL NOT NULL,
    type TEXT NOT NULL,
    data JSONB NOT NULL,
    status webhook_delivery_status NOT NULL DEFAULT 'pending',
    created_at TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    attempts INTEGER NOT NULL DEFAULT 0,
    last_attempt_at TIMESTAMPTZ(3),
    next_attempt_at TIMESTAMPTZ(3) DEFAULT CURRENT_TIMESTAMP,
    expires_at TIMESTAMPTZ(3) NOT NULL,
    response_status INTEGER,
    response TEXT,
    error TEXT,
    CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (id),
    CONSTRAINT webhook_deliveries_due CHECK ((status = 'pending') = (next_attempt_at IS NOT NULL)),
    CONSTRAINT webhook_deliveries_endpoint_id_fkey FOREIGN KEY (endpoint_id) REFERENCES webhook_endpoints (id) ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX webhook_deliveries_number_key ON webhook_deliveries (number);
CREATE INDEX webhook_deliveries_endpoint_id_number_idx ON webhook_deliveries (endpoint_id, number);
CREATE INDEX webhook_deliveries_due_idx ON webhook_deliveries (next_attempt_at) WHERE status = 'pending';
CREATE INDEX webhook_deliveries_waiting_idx ON webhook_deliveries (endpoint_id) WHERE status = 'pending';
CREATE INDEX webhook_deliveries_old_idx ON webhook_deliveries (created_at) WHERE status <> 'pending';

-- When distribution events were recorded since the last activation.
ALTER TABLE game_versions ADD COLUMN distributed_at TIMESTAMPTZ(3), ADD COLUMN distribution_failed_at TIMESTAMPTZ(3);
