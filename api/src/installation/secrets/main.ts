// Runs before each installation and upgrade of the chart: creates missing secrets and keeps existing ones.
import { createLogger } from "#runtime/program/createLogger.ts";
import { orExit } from "#runtime/program/program.ts";
import { secrets } from "#kube/api/builtin.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import { KubeTransport } from "#kube/client/transport.ts";
import { readConfig } from "./config.ts";
import { ensureSecret } from "./releaseSecrets.ts";
import { secretPlans } from "./secretPlans.ts";

const config = orExit(() => readConfig(process.env));
const logger = createLogger({ program: "make-secrets", level: "info" });
const transport = KubeTransport.fromDefault({ userAgent: "joypod-make-secrets" });
try {
  const client = new ResourceClient(transport, secrets);
  for (const plan of secretPlans(config)) {
    const outcome = await ensureSecret(client, config, plan);
    logger.info({ name: plan.name, outcome }, "A secret of the release exists.");
  }
} catch (error) {
  logger.error(
    { err: error },
    "The release's secrets could not be created. Nothing else was installed or changed, except those listed above.",
  );
  process.exitCode = 1;
} finally {
  await transport.close();
}
