import { expect } from "chai";
import { setTimeout as delay } from "node:timers/promises";
import { eventually } from "#test/support/clocks/eventually.ts";
import { ServedPlatform } from "#test/support/fixtures/servedPlatform.ts";
import { PlayTraffic, type Asked, type PlayedSession } from "#test/support/http/playTraffic.ts";
import { freezeDatabase } from "#test/support/stores/postgres.ts";

const outageMs = 60_000;
/** An outage lasts three times as long: without its mechanisms every session would end as idle. */
const idleTimeoutSeconds = 20;
const transfers = ["download", "upload"] as const;
const asked: readonly Asked[] = ["keepalive", "status", "library", "launch", ...transfers];
/** Those that keep a game going. */
const playing = ["keepalive", "status"] as const;

/** Begins an outage; returns what ends it. */
type Begin = (platform: ServedPlatform) => Promise<() => unknown> | (() => unknown);

interface Store {
  faults: Record<string, Begin>;
  /** Of the requests that keep a game going, the share that may fail. */
  failing: number;
  /** What is asked of it directly, and refused while it does not answer. */
  refused?: readonly Asked[];
}

const stores: Record<string, Store> = {
  Postgres: {
    failing: 0,
    faults: {
      "is killed": async ({ api }) => {
        // The server of the tests writes late: what was stored before must outlive the crash.
        await api.deps.postgres.pool.query("CHECKPOINT");
        await api.database.server.stop("SIGQUIT");
        return () => api.database.server.start();
      },
      freezes: ({ api }) => freezeDatabase(api.database),
    },
  },
  Redis: {
    failing: 0.001,
    faults: {
      "is killed": async ({ redis: { server } }) => {
        await server.stop();
        return () => server.start();
      },
      freezes: ({ redis: { server } }) => freeze(server),
    },
  },
  MinIO: {
    failing: 0,
    refused: ["download", "upload"],
    faults: {
      "is killed": async ({ api: { minio } }) => {
        await minio?.stop();
        return () => minio?.start();
      },
      freezes: ({ api: { minio } }) => {
        minio?.freeze();
        return Promise.resolve(() => minio?.resume());
      },
    },
  },
  "the Kubernetes API server": {
    failing: 0,
    faults: {
      "is killed": async ({
        cluster: {
          programs: { apiServer },
        },
      }) => {
        await apiServer.stop();
        return () => apiServer.start();
      },
      freezes: ({
        cluster: {
          programs: { apiServer },
        },
      }) => freeze(apiServer),
    },
  },
};

describe("a minute without", function () {
  this.timeout(300_000);
  let platform: ServedPlatform;
  let played: PlayedSession[];
  let traffic: PlayTraffic;

  before(async () => {
    platform = await ServedPlatform.start({
      slots: 60,
      env: {
        IDLE_TIMEOUT_SECONDS: String(idleTimeoutSeconds),
        POLLS_PER_MINUTE: "1000",
        CATALOG_REQUESTS_PER_MINUTE: "1000",
        PARTNER_UPLOADS_PER_HOUR: "10000",
        SAVE_TRANSFERS_PER_HOUR: "10000",
        LAUNCHES_PER_MINUTE: "1000",
        LAUNCHES_PER_HOUR: "100000",
      },
    });
  });
  after(() => platform.stop());

  beforeEach(async () => {
    const {
      api,
      replicas,
      game: { slug },
    } = platform;
    played = await platform.play(10);
    traffic = await PlayTraffic.start({
      api,
      replicas,
      played,
      visitors: await platform.users(5),
      slug,
      ...(await platform.transfers()),
    });
    await eventually(() => asked.every((each) => traffic.count(each) > 0), {
      what: "all pages to be at work",
    });
    for (const each of transfers) await served(each, 0);
    traffic.reset();
  });
  afterEach(() => traffic.stop());

  /** Resolves once a request that was sent since then was answered as it should be. */
  async function served(each: Asked, sinceMs: number): Promise<void> {
    await eventually(() => traffic.sentSince(sinceMs, each).some(({ status }) => status === 200), {
      what: `a ${each} to be served`,
      timeoutMs: 60_000,
    });
  }

  /** Two looks for idle sessions since now, by the leading replica. */
  async function sweeps(): Promise<void> {
    const at = async (): Promise<number> =>
      (
        await platform.api.deps.postgres.pool.query<{ at: Date }>("SELECT swept_at AS at FROM idle_sweeps")
      ).rows[0]?.at.getTime() ?? 0;
    for (let count = 0; count < 2; count++) {
      const before = await at();
      await eventually(async () => (await at()) > before, {
        what: "the next look for idle sessions",
        timeoutMs: 45_000,
        intervalMs: 500,
      });
    }
  }

  for (const [store, { faults, failing, refused = [] }] of Object.entries(stores)) {
    for (const [fault, begin] of Object.entries(faults)) {
      it(`${store}, which ${fault}: running games are kept alive and shown, nothing hangs, and everything recovers automatically`, async () => {
        const end = await begin(platform);
        const begunMs = performance.now();
        let during: string;
        try {
          await delay(outageMs);
          during = traffic.summary();
          for (const each of refused) {
            expect(
              new Set(traffic.sentSince(begunMs, each).map(({ status }) => status)),
              `statuses of each ${each}; ${during}`,
            ).to.have.all.keys(503);
          }
        } finally {
          await end();
        }
        const endedMs = performance.now();
        process.stderr.write(`      ${during.replaceAll("\n", "\n      ")}\n`);
        expect(traffic.failed(...playing), during).to.have.length.at.most(
          failing * traffic.count(...playing),
        );
        for (const outcome of traffic.failed(...asked)) {
          expect(outcome, during).to.include({ status: 503 });
          expect(Number(outcome.retryAfter), during).to.be.at.least(1);
        }
        // Each page is served again, without anybody's doing.
        await eventually(
          () => {
            const failed = traffic.failed(...asked).length;
            traffic.reset();
            return failed === 0;
          },
          { what: "requests to succeed", timeoutMs: 60_000, intervalMs: 5_000 },
        );
        for (const each of transfers) await served(each, endedMs);
        await sweeps();
        expect(traffic.failed(...asked), traffic.summary()).to.be.empty;
        for (const session of await platform.recorded(played))
          expect(session).to.deep.equal({ status: "running", stopReason: null, failureReason: null });
        // Pages that are closed keep nothing alive.
        await traffic.stop();
        await eventually(
          async () =>
            (await platform.recorded(played)).every(
              ({ status, stopReason }) => status === "stopped" && stopReason === "IdleTimeout",
            ),
          { what: "the sessions to end as idle", timeoutMs: 90_000, intervalMs: 1_000 },
        );
      });
    }
  }
});

function freeze(program: { signal: (name: NodeJS.Signals) => void }): () => void {
  program.signal("SIGSTOP");
  return () => program.signal("SIGCONT");
}
