import type { Clock } from "#runtime/scheduling/clock.ts";
import type { Logger } from "#runtime/logger.ts";
import type { KubeTransport } from "#kube/client/transport.ts";
import type { BoundedQueue, SharedQueue } from "#runtime/scheduling/boundedQueue.ts";
import type { Audit } from "./audit/audit.ts";
import type { CatalogCounts } from "./catalog/catalogQueries.ts";
import type { AuthSessions } from "./auth/authSessions.ts";
import type { ClusterView } from "./cluster/clusterView.ts";
import type { Config } from "./config.ts";
import type { ExpiryMoves } from "./gameSessions/sessions/keepGameSessionAlive.ts";
import type { GameUploads } from "./games/upload/gameUploads.ts";
import type { UploadChecks } from "./games/resumable/uploadChecks.ts";
import type { GameCacheWriter } from "./cluster/gameCacheWriter.ts";
import type { GameSessionEvents } from "./gameSessions/sessions/gameSessionEvents.ts";
import type { GameSessionWriter } from "./cluster/gameSessionWriter.ts";
import type { LaunchBatches } from "./gameSessions/launching/launchBatches.ts";
import type { LaunchQueue } from "./gameSessions/launching/launchQueue.ts";
import type { QueueState } from "./gameSessions/queue/queueQueries.ts";
import type { Lockout } from "./auth/lockout.ts";
import type { AnnouncementWatch } from "./maintenance/announcementWatch.ts";
import type { MaintenanceWatch } from "./maintenance/maintenanceWatch.ts";
import type { Mailer, MailWork } from "./mail/mailer.ts";
import type { Metrics } from "./metrics.ts";
import type { OAuthProvider } from "./auth/oauth/oauthProvider.ts";
import type { OAuthTransactions } from "./auth/oauth/oauthTransactions.ts";
import type { ObjectStore } from "./stores/objectStore.ts";
import type { Passwords } from "./auth/passwords.ts";
import type { Postgres } from "./stores/postgres.ts";
import type { RateLimits } from "./http/rateLimits.ts";
import type { Readiness } from "./http/health.ts";
import type { Redis } from "./stores/redis.ts";
import type { StreamTickets } from "./auth/streamTickets.ts";
import type { TestResponders } from "./connectionTests/testResponders.ts";
import type { StreamerClient } from "./stream/streamerClient.ts";
import type { Tokens, CsrfTokens } from "./auth/tokens.ts";
import type { SignInFailures } from "./auth/signInFailures.ts";
import type { SignInTurns } from "./auth/signInTurns.ts";
import type { DatabaseOutages } from "./stores/databaseFailure.ts";
import type { KnownPartnerKeys } from "./partners/requirePartner.ts";
import type { WebhookDestinations } from "./webhooks/destinations.ts";
import type { WebhookSecrets } from "./webhooks/webhookSecrets.ts";
import type { SaveUploads } from "./saves/uploadSave.ts";

/**
 * All dependencies of requests and background work, constructed once by createDeps. Functions pick what they
 * need.
 */
export interface Deps {
  config: Config;
  logger: Logger;
  clock: Clock;
  metrics: Metrics;
  postgres: Postgres;
  /** Falls back to the cluster during database outages. */
  databaseOutages: DatabaseOutages;
  redis: Redis;
  objectStore: ObjectStore;
  readiness: Readiness;
  /** Reads length and oldest wait of the queue. */
  queueState: () => Promise<QueueState>;
  rateLimits: RateLimits;
  knownPartnerKeys: KnownPartnerKeys;
  audit: Audit;
  tokens: Tokens;
  csrfTokens: CsrfTokens;
  catalogCounts: CatalogCounts;
  webhookSecrets: WebhookSecrets;
  webhookDestinations: WebhookDestinations;
  /** Limits concurrent uploads of game archives. */
  gameUploads: GameUploads;
  /** Checks of archives that arrived in chunks. */
  uploadChecks: UploadChecks;
  /** Limits concurrent uploads of saves. */
  saveUploads: SaveUploads;
  /** Limits concurrent reads of saves. */
  saveReads: SharedQueue;
  authSessions: AuthSessions;
  /** External sign-in providers by id. */
  oauthProviders: ReadonlyMap<string, OAuthProvider>;
  oauthTransactions: OAuthTransactions;
  passwords: Passwords;
  /** Undefined if this site sends no mail. */
  mailer: Mailer | undefined;
  /** Sends mail after the response. */
  mailWork: MailWork;
  lockout: Lockout;
  signInFailures: SignInFailures;
  /** Limits concurrent store requests of sign-ins. */
  signInQueue: BoundedQueue;
  /** Queues sign-ins behind others of the same account. */
  signInTurns: SignInTurns;
  /** The connection to the Kubernetes API server, for uses that the following do not cover. */
  kube: KubeTransport;
  cluster: ClusterView;
  gameSessionWriter: GameSessionWriter;
  gameCacheWriter: GameCacheWriter;
  gameCacheTurns: BoundedQueue;
  expiryMoves: ExpiryMoves;
  gameSessionEvents: GameSessionEvents;
  maintenance: MaintenanceWatch;
  announcements: AnnouncementWatch;
  /** Queues launches without holding database connections. */
  launchQueue: LaunchQueue;
  launchBatches: LaunchBatches;
  streamers: StreamerClient;
  streamTickets: StreamTickets;
  /** Responders on game nodes; undefined if this installation has none. */
  testResponders: TestResponders | undefined;
  /**
   * `isStopping` is set when the process starts to shut down: it finishes its requests and accepts no more.
   */
  lifecycle: { isStopping: boolean };
}
