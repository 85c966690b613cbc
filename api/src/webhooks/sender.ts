import { limits } from "#contracts/limits.ts";
import type { Logger } from "#runtime/logger.ts";
import { repeat, type BackgroundJob } from "#runtime/scheduling/backgroundJob.ts";
import { backOffMs } from "#runtime/scheduling/backOff.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { Audit } from "../audit/audit.ts";
import type { WebhookAttemptResult } from "../metrics.ts";
import type { Postgres } from "../stores/postgres.ts";
import {
  claimDelivery,
  updateDeliveryFailed,
  updateDeliverySucceeded,
  type ClaimedDelivery,
} from "./deliveryQueries.ts";
import { attemptFailureOf, type WebhookDestinations, type WebhookResponse } from "./destinations.ts";
import { updateEndpointDisabled } from "./endpointQueries.ts";
import { signaturesOf, type WebhookSecrets } from "./webhookSecrets.ts";

/** Dependencies of sending. */
export interface WebhookSenderDeps {
  postgres: Postgres;
  audit: Audit;
  logger: Logger;
  clock: Clock;
  metrics: { webhookAttempted(result: WebhookAttemptResult): void };
  webhookSecrets: WebhookSecrets;
  webhookDestinations: WebhookDestinations;
}

const periodMs = 1_000;
/** Attempts of this process at a time, of which each endpoint has one. */
const concurrency = 24;
const { backOff } = limits.webhook;
const retries = { baseMs: backOff.baseSeconds * 1000, maxMs: backOff.maxSeconds * 1000 };

/**
 * Sends recorded events. Every replica does; a delivery is claimed in the database for one attempt, so each
 * is sent at least once, whatever process dies.
 */
export class WebhookSender implements BackgroundJob {
  readonly #deps: WebhookSenderDeps;
  readonly #stopping = new AbortController();
  /** Attempts in progress, by endpoint. */
  readonly #attempts = new Map<string, Promise<void>>();
  #running: Promise<void> | undefined;
  /** Claims in progress: one at a time, because each needs to know the endpoints of the others. */
  #claiming: Promise<void> | undefined;
  /** Whether something may be due that the claims in progress have not seen. */
  #mayBeDue = false;

  constructor(deps: WebhookSenderDeps) {
    this.#deps = deps;
  }

  start(): void {
    const { clock, logger } = this.#deps;
    this.#running ??= repeat(
      { name: "webhooks", periodMs, jitter: 0.5, clock, logger, work: () => this.#startDue() },
      this.#stopping.signal,
    );
  }

  /** Lets attempts in progress finish. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    await Promise.all(this.#attempts.values());
  }

  /** Sends everything that is due, and resolves when nothing is any longer. */
  async pass(): Promise<void> {
    for (;;) {
      await this.#startDue();
      if (this.#attempts.size === 0) return;
      await Promise.all(this.#attempts.values());
    }
  }

  /** Starts attempts of due deliveries while there is room. */
  #startDue(): Promise<void> {
    this.#mayBeDue = true;
    this.#claiming ??= this.#claimDue().finally(() => {
      this.#claiming = undefined;
    });
    return this.#claiming;
  }

  async #claimDue(): Promise<void> {
    while (this.#mayBeDue && this.#attempts.size < concurrency && !this.#stopping.signal.aborted) {
      this.#mayBeDue = false;
      const delivery = await claimDelivery(this.#deps.postgres.pool, [...this.#attempts.keys()]);
      if (delivery === undefined) continue;
      this.#mayBeDue = true;
      this.#attempts.set(delivery.endpointId, this.#run(delivery));
    }
  }

  /** Attempts a delivery, and then starts the next ones that are due. */
  async #run(delivery: ClaimedDelivery): Promise<void> {
    const { id, endpointId } = delivery;
    try {
      await this.#attempt(delivery).finally(() => this.#attempts.delete(endpointId));
      await this.#startDue();
    } catch (error) {
      // The delivery is due again when its lease ends.
      this.#deps.logger.warn(
        { err: error, webhook: endpointId, delivery: id },
        "A webhook could not be sent.",
      );
    }
  }

  async #attempt(delivery: ClaimedDelivery): Promise<void> {
    const { postgres, metrics } = this.#deps;
    let response: WebhookResponse | undefined;
    let error: string | undefined;
    try {
      response = await this.#send(delivery);
      if (response.status < 200 || response.status > 299)
        error = `The response had the status ${response.status}.`;
    } catch (cause) {
      error = cause instanceof UnreadableSecret ? cause.message : attemptFailureOf(cause);
    }
    const received = { status: response?.status ?? null, text: response?.text ?? null };
    if (error === undefined) {
      await updateDeliverySucceeded(postgres.pool, delivery.id, received);
      metrics.webhookAttempted("succeeded");
      return;
    }
    const delaySeconds = backOffMs(retries, delivery.attempts, Math.random) / 1000;
    const failure = { ...received, error, delaySeconds };
    const consequence = await updateDeliveryFailed(postgres.pool, delivery, failure);
    metrics.webhookAttempted(consequence?.isFinal === true ? "exhausted" : "failed");
    if (response?.status === 410) await this.#disable(delivery.endpointId, "gone");
    else if (consequence?.isFinal === true && consequence.isFailingTooLong)
      await this.#disable(delivery.endpointId, "failing");
  }

  async #send({
    id,
    type,
    data,
    createdAt,
    url,
    endpointId,
    ...sealed
  }: ClaimedDelivery): Promise<WebhookResponse> {
    const { clock, webhookDestinations, webhookSecrets } = this.#deps;
    const open = (secret: string): string | undefined => webhookSecrets.open(endpointId, secret);
    const current = open(sealed.secret);
    if (current === undefined) throw new UnreadableSecret();
    const previous = sealed.previousSecret === null ? undefined : open(sealed.previousSecret);
    const timestamp = Math.floor(clock.now().getTime() / 1000);
    const body = JSON.stringify({ type, timestamp: createdAt.toISOString(), data });
    const secrets = previous === undefined ? [current] : [current, previous];
    const headers = {
      "content-type": "application/json",
      "user-agent": "Joypod-Webhooks",
      "webhook-id": id,
      "webhook-timestamp": String(timestamp),
      "webhook-signature": signaturesOf({ id, timestamp, body }, secrets),
    };
    return await webhookDestinations.post(url, headers, body);
  }

  async #disable(endpointId: string, reason: "failing" | "gone"): Promise<void> {
    const { postgres, audit, logger } = this.#deps;
    const partnerId = await updateEndpointDisabled(postgres.pool, endpointId, reason);
    if (partnerId === undefined) return;
    logger.warn({ webhook: endpointId, reason }, "A webhook was disabled.");
    await audit.record({
      action: "webhook.disabled",
      actor: { kind: "operator" },
      subject: { kind: "partner", id: partnerId },
      details: { webhook: endpointId, reason },
    });
  }
}

/** The key that has encrypted the secret is no longer configured. */
class UnreadableSecret extends Error {
  override readonly name = "UnreadableSecret";
  override readonly message = "The signing secret is no longer readable. Rotate it.";
}
