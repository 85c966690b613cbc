import type { Logger } from "#runtime/logger.ts";
import type { Postgres } from "../stores/postgres.ts";
import { deleteOldRows } from "../stores/sweepRows.ts";
import { deleteOldDeliveries, updateDeliveriesExpired } from "./deliveryQueries.ts";
import { listSecretsOfOtherKeys, updateSealedSecrets } from "./endpointQueries.ts";
import type { WebhookSecrets } from "./webhookSecrets.ts";

/** Dependencies of the sweep. */
export interface SweepWebhooksDeps {
  postgres: Postgres;
  logger: Logger;
  webhookSecrets: WebhookSecrets;
}

/** Fails deliveries whose time is over, and removes those after their retention. */
export async function sweepDeliveries({ postgres }: Pick<SweepWebhooksDeps, "postgres">): Promise<void> {
  await deleteOldRows((max) => updateDeliveriesExpired(postgres.pool, max));
  await deleteOldRows((max) => deleteOldDeliveries(postgres.pool, max));
}

/** Encrypts signing secrets with the newest key, so that the admin can remove an older one. */
export async function resealWebhookSecrets({
  postgres,
  logger,
  webhookSecrets,
}: SweepWebhooksDeps): Promise<void> {
  const { keyId } = webhookSecrets;
  let count = 0;
  for (const row of await listSecretsOfOtherKeys(postgres.pool, keyId)) {
    const reseal = (sealed: string): string | undefined => {
      const secret = webhookSecrets.open(row.id, sealed);
      return secret === undefined ? undefined : webhookSecrets.seal(row.id, secret);
    };
    const secret = reseal(row.secret);
    const previousSecret = row.previousSecret === null ? null : (reseal(row.previousSecret) ?? null);
    // The endpoint's deliveries tell the partner to rotate a secret whose key is gone.
    if (secret === undefined) continue;
    await updateSealedSecrets(postgres.pool, row, { secret, previousSecret });
    count += 1;
  }
  if (count > 0) logger.info({ webhooks: count }, "Secrets of webhooks were encrypted with the newest key.");
}
