// Runs with each installation and upgrade of the chart: distributes the programs' own keys of the object
// store. The bundled MinIO gets a user per program. The node agents' key, and the public key with which the
// responders of connection tests verify the API's tickets, are copied to their namespace, and the relay's
// secret to the relay's. Pull secrets are copied to all namespaces with our pods.
import { createLogger } from "#runtime/program/createLogger.ts";
import { orExit } from "#runtime/program/program.ts";
import { secrets } from "#kube/api/builtin.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import { KubeTransport } from "#kube/client/transport.ts";
import { labelsOf, writeSecret } from "../secrets/releaseSecrets.ts";
import { readConfig } from "./config.ts";
import { copyPullSecrets } from "./copyPullSecrets.ts";
import { createStoreUsers, MinioAdmin, whenAvailable } from "./minioAdmin.ts";

/** The image of a MinIO that is installed with this release may still be downloading. */
const minioWaitMs = 240_000;

const config = orExit(() => readConfig(process.env));
const logger = createLogger({ program: "give-store-keys", level: "info" });
const transport = KubeTransport.fromDefault({ userAgent: "joypod-give-store-keys" });
try {
  const client = new ResourceClient(transport, secrets);
  // First, because the pods in those namespaces cannot start without them.
  const missing = await copyPullSecrets(client, config.pullSecrets, config.release);
  if (missing.length > 0)
    logger.warn(
      { missing, namespace: config.pullSecrets.from },
      "Some pull secrets in imagePullSecrets do not exist. Create them and upgrade the release.",
    );
  await writeSecret(client, config.nodeAgentSecret, labelsOf(config.release, "node-agent"), {
    ...config.nodeAgentStore,
  });
  logger.info(
    { name: config.nodeAgentSecret.name, namespace: config.nodeAgentSecret.namespace },
    "The key of the node agents is stored.",
  );
  if (config.connectionTest !== undefined) {
    const { secret, publicKey } = config.connectionTest;
    await writeSecret(client, secret, labelsOf(config.release, "connection-test"), { publicKey });
    logger.info(
      { name: secret.name, namespace: secret.namespace },
      "The public key for connection tests is stored.",
    );
  }
  if (config.relay !== undefined) {
    await writeSecret(client, config.relay.ref, labelsOf(config.release, "turn"), {
      secret: config.relay.secret,
    });
    logger.info(
      { name: config.relay.ref.name, namespace: config.relay.ref.namespace },
      "The secret of the relay is stored.",
    );
  }
  if (config.minio !== undefined) {
    const { admin, users } = config.minio;
    await whenAvailable(() => createStoreUsers(new MinioAdmin(admin), users), minioWaitMs);
    logger.info(
      { programs: users.map(({ program }) => program) },
      "The programs' users in MinIO are up to date.",
    );
  }
} catch (error) {
  logger.error({ err: error }, "The keys of the object store could not be distributed.");
  process.exitCode = 1;
} finally {
  await transport.close();
}
