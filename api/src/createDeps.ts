import { systemClock, type Clock } from "#runtime/scheduling/clock.ts";
import type { Logger } from "#runtime/logger.ts";
import { KubeTransport } from "#kube/client/transport.ts";
import type { KubeMetrics } from "#kube/controllers/metrics.ts";
import { AuthSessions } from "./auth/authSessions.ts";
import { Lockout } from "./auth/lockout.ts";
import { OAuthProvider } from "./auth/oauth/oauthProvider.ts";
import { OAuthTransactions } from "./auth/oauth/oauthTransactions.ts";
import { Passwords } from "./auth/passwords.ts";
import { StreamTickets } from "./auth/streamTickets.ts";
import { Tokens, CsrfTokens } from "./auth/tokens.ts";
import { SignInFailures } from "./auth/signInFailures.ts";
import { createSignInQueue, SignInTurns } from "./auth/signInTurns.ts";
import { ExpiryMoves } from "./gameSessions/sessions/keepGameSessionAlive.ts";
import type { Config } from "./config.ts";
import { TestResponders } from "./connectionTests/testResponders.ts";
import type { Deps } from "./deps.ts";
import { UploadChecks } from "./games/resumable/uploadChecks.ts";
import { GameUploads } from "./games/upload/gameUploads.ts";
import { GameSessionEvents } from "./gameSessions/sessions/gameSessionEvents.ts";
import { createQueueStateReader } from "./gameSessions/queue/queueStateReader.ts";
import { createReadiness } from "./http/health.ts";
import { AnnouncementWatch } from "./maintenance/announcementWatch.ts";
import { MaintenanceWatch } from "./maintenance/maintenanceWatch.ts";
import { Mailer, MailWork } from "./mail/mailer.ts";
import { Metrics } from "./metrics.ts";
import { Audit } from "./audit/audit.ts";
import { CatalogCounts } from "./catalog/catalogQueries.ts";
import { LaunchBatches } from "./gameSessions/launching/launchBatches.ts";
import { LaunchQueue } from "./gameSessions/launching/launchQueue.ts";
import { connectObjectStore } from "./stores/objectStore.ts";
import { connectPostgres } from "./stores/postgres.ts";
import { policiesOf, RateLimits } from "./http/rateLimits.ts";
import { connectRedis } from "./stores/redis.ts";
import { StreamerClient } from "./stream/streamerClient.ts";
import { ClusterView } from "./cluster/clusterView.ts";
import { GameCacheWriter } from "./cluster/gameCacheWriter.ts";
import { GameSessionWriter } from "./cluster/gameSessionWriter.ts";
import { DatabaseOutages } from "./stores/databaseFailure.ts";
import { createGameCacheQueue } from "./games/syncGameCaches.ts";
import { KnownPartnerKeys } from "./partners/requirePartner.ts";
import { findOldestDueSeconds } from "./webhooks/deliveryQueries.ts";
import { WebhookDestinations } from "./webhooks/destinations.ts";
import { WebhookSecrets } from "./webhooks/webhookSecrets.ts";
import { SaveUploads } from "./saves/uploadSave.ts";
import { createSaveReadQueue } from "./saves/readableVersion.ts";

/** Everything that uses the Kubernetes API. */
interface ClusterConnection {
  /** The connection, for uses that the following do not cover. */
  kube: KubeTransport;
  cluster: ClusterView;
  gameSessionWriter: GameSessionWriter;
  gameCacheWriter: GameCacheWriter;
}

/** Constructs all dependencies. Sends no requests to any store. */
export function createDeps(config: Config, logger: Logger, clock: Clock = systemClock): Deps {
  const {
    signingKeys,
    tokenLifetimeSeconds: lifetimeSeconds,
    absoluteLifetimeSeconds,
    pepper,
    bcryptCost,
    passwordWorkers,
  } = config.auth;
  const metrics = new Metrics();
  const postgres = connectPostgres({ ...config.postgres, logger });
  const databaseOutages = new DatabaseOutages({ clock, logger });
  const redisConnection = connectRedis(config.redis, logger);
  const { redis } = redisConnection;
  const objectStore = connectObjectStore(config.objectStore);
  const rateLimits = new RateLimits(redis, config);
  const passwordRounds = metrics.counter(
    "joypod_password_rounds_total",
    "Rounds of bcrypt computed for passwords.",
    [],
  );
  const passwords = new Passwords({
    pepper,
    cost: bcryptCost,
    workers: passwordWorkers,
    onRounds: (rounds) => passwordRounds.inc(rounds),
  });
  metrics.gauge("joypod_password_queue", "Password checks waiting for a thread.", () => passwords.queued);
  metrics.gauge("joypod_database_connections", "Open database connections.", () => postgres.pool.totalCount);
  metrics.gauge(
    "joypod_database_waiting",
    "Requests waiting for a database connection.",
    () => postgres.pool.waitingCount,
  );
  const cluster = connectCluster(config.cluster, logger, metrics.kube);
  const streamTickets = new StreamTickets(signingKeys, clock);
  const announcements = new AnnouncementWatch({
    transport: cluster.kube,
    releaseNamespace: config.cluster.releaseNamespace,
    logger,
  });
  const gameSessionEvents = new GameSessionEvents({
    postgres,
    cluster: cluster.cluster,
    announcements,
    clock,
    logger,
    config,
  });
  metrics.gauge(
    "joypod_event_streams",
    "Open event streams of game sessions.",
    () => gameSessionEvents.followers,
  );
  const readiness = createReadiness({
    postgres,
    objectStore,
    redis: { connection: redisConnection, url: config.redis.url },
    clock,
    logger,
    keptMs: config.http.readyKeptMs,
  });
  metrics.storesReady({
    database: () => readiness.database.check(),
    objectStore: () => readiness.objectStore.check(),
    redis: () => readiness.redis.check(),
  });
  const queueState = createQueueStateReader({ postgres, clock });
  metrics.queueState(queueState);
  metrics.webhookOldestDue(() => findOldestDueSeconds(postgres.pool));
  return {
    config,
    logger,
    clock,
    metrics,
    postgres,
    databaseOutages,
    redis,
    rateLimits,
    passwords,
    mailer:
      config.mail &&
      new Mailer({ settings: config.mail, clock, onDone: (outcome) => metrics.mailDone(outcome) }),
    mailWork: new MailWork(logger),
    gameSessionEvents,
    ...cluster,
    expiryMoves: new ExpiryMoves(cluster.cluster.gameSessions.cache, clock),
    maintenance: new MaintenanceWatch({
      transport: cluster.kube,
      releaseNamespace: config.cluster.releaseNamespace,
      logger,
    }),
    announcements,
    gameCacheTurns: createGameCacheQueue(),
    launchQueue: new LaunchQueue(clock),
    launchBatches: new LaunchBatches({ config, clock, postgres, cluster: cluster.cluster, streamTickets }),
    streamers: new StreamerClient(),
    streamTickets,
    testResponders: config.connectionTest && new TestResponders(config.connectionTest, clock),
    objectStore,
    readiness,
    queueState,
    knownPartnerKeys: new KnownPartnerKeys(),
    catalogCounts: new CatalogCounts(),
    webhookSecrets: new WebhookSecrets(signingKeys),
    webhookDestinations: new WebhookDestinations(config.webhooks),
    gameUploads: new GameUploads(),
    uploadChecks: new UploadChecks(),
    saveUploads: new SaveUploads(8),
    saveReads: createSaveReadQueue(),
    audit: new Audit(postgres, logger),
    tokens: new Tokens({ signingKeys, lifetimeSeconds, cookie: config.sessionCookie, clock }),
    csrfTokens: new CsrfTokens(signingKeys),
    authSessions: new AuthSessions({
      postgres,
      redis,
      rateLimits,
      databaseOutages,
      clock,
      lifetimeSeconds,
      absoluteLifetimeSeconds,
    }),
    oauthProviders: new Map(
      config.auth.providers.map((provider) => [
        provider.id,
        new OAuthProvider({ config: provider, baseUrl: config.baseUrl, clock }),
      ]),
    ),
    oauthTransactions: new OAuthTransactions(signingKeys, clock),
    lockout: new Lockout(redis, clock),
    signInFailures: new SignInFailures(redis, clock, policiesOf(config).signInFailures),
    signInQueue: createSignInQueue({ concurrency: 2, waitingMax: 256, deadlineMs: 5_000 }),
    signInTurns: new SignInTurns({ waitingMax: 64, deadlineMs: 10_000, pauseMs: 100 }),
    lifecycle: { isStopping: false },
  };
}

/** Closes what createDeps opened. */
export async function closeDeps({
  audit,
  mailer,
  mailWork,
  postgres,
  redis,
  passwords,
  kube,
  streamers,
  testResponders,
  uploadChecks,
}: Deps): Promise<void> {
  await uploadChecks.stop();
  await mailWork.settled();
  mailer?.close();
  await audit.settled();
  await Promise.all([
    passwords.close(),
    postgres.close(),
    kube.close(),
    streamers.close(),
    testResponders?.close(),
  ]);
  redis.disconnect();
}

/** Constructs everything that uses the Kubernetes API. Sends no requests. */
function connectCluster(
  {
    kubeconfig,
    sessionsNamespace,
    installation,
  }: { kubeconfig: string | undefined; sessionsNamespace: string; installation: string },
  logger: Logger,
  metrics: KubeMetrics,
): ClusterConnection {
  const options = { userAgent: "joypod-api", metrics: metrics.requests };
  const kube =
    kubeconfig === undefined
      ? KubeTransport.fromDefault(options)
      : KubeTransport.fromFile(kubeconfig, options);
  return {
    kube,
    cluster: new ClusterView({ transport: kube, sessionsNamespace, installation, logger, metrics }),
    gameSessionWriter: new GameSessionWriter(kube, sessionsNamespace),
    gameCacheWriter: new GameCacheWriter(kube, sessionsNamespace),
  };
}
