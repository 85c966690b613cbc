// What the chart runs beside each installed or upgraded release: gives the programs their own keys of the
// object store. The bundled MinIO gets a user for each, and the node agents' key goes to their namespace, as
// does what the responders beside them check the API's tickets with. The relay's secret goes to its own,
// where there is a relay. Pull secrets go to all namespaces with pods of ours.
import { createLogger } from "#runtime/program/createLogger.ts";
import { orExit } from "#runtime/program/program.ts";
import { secrets } from "#kube/api/builtin.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import { KubeTransport } from "#kube/client/transport.ts";
import { labelsOf, writeSecret } from "../secrets/releaseSecrets.ts";
import { readConfig } from "./config.ts";
import { copyPullSecrets } from "./copyPullSecrets.ts";
import { createStoreUsers, MinioAdmin, whenAvailable } from "./minioAdmin.ts";

/** A MinIO that is installed with this release may still be pulling its image. */
const minioWaitMs = 240_000;

const config = orExit(() => readConfig(process.env));
const logger = createLogger({ program: "give-store-keys", level: "info" });
const transport = KubeTransport.fromDefault({ userAgent: "joypod-give-store-keys" });
try {
  const client = new ResourceClient(transport, secrets);
  // First, because the pods there wait for them before all else.
  const missing = await copyPullSecrets(client, config.pullSecrets, config.release);
  if (missing.length > 0)
    logger.warn(
      { missing, namespace: config.pullSecrets.from },
      "Pull secrets that imagePullSecrets names are missing; make them, and upgrade the release.",
    );
  await writeSecret(client, config.nodeAgentSecret, labelsOf(config.release, "node-agent"), {
    ...config.nodeAgentStore,
  });
  logger.info(
    { name: config.nodeAgentSecret.name, namespace: config.nodeAgentSecret.namespace },
    "The node agents have their key.",
  );
  if (config.connectionTest !== undefined) {
    const { secret, publicKey } = config.connectionTest;
    await writeSecret(client, secret, labelsOf(config.release, "connection-test"), { publicKey });
    logger.info(
      { name: secret.name, namespace: secret.namespace },
      "The responders of connection tests have the public key.",
    );
  }
  if (config.relay !== undefined) {
    await writeSecret(client, config.relay.ref, labelsOf(config.release, "turn"), {
      secret: config.relay.secret,
    });
    logger.info(
      { name: config.relay.ref.name, namespace: config.relay.ref.namespace },
      "The relay has its secret.",
    );
  }
  if (config.minio !== undefined) {
    const { admin, users } = config.minio;
    await whenAvailable(() => createStoreUsers(new MinioAdmin(admin), users), minioWaitMs);
    logger.info({ users: users.map(({ accessKey }) => accessKey) }, "MinIO has the programs' users.");
  }
} catch (error) {
  logger.error({ err: error }, "The keys of the object store could not be given out.");
  process.exitCode = 1;
} finally {
  await transport.close();
}
