import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { gunzipSync } from "node:zlib";
import { unpackTar } from "modern-tar";
import type {
  GameSessionStatusResponse,
  KeepaliveResponse,
  LaunchResponse,
  StopResponse,
} from "#contracts/http/gameSessions.ts";
import { contentDirectory, sessionUserId } from "#contracts/nodeLayout.ts";
import { aPartner, aUser, type TestUser } from "#test/factories/catalog.ts";
import { eventually } from "../clocks/eventually.ts";
import { anArchive, archivedGame, sha256Of } from "../fixtures/archives.ts";
import type { ApiClient, ApiResponse } from "../http/apiClient.ts";
import type { CrashWorld } from "./crashWorld.ts";

/** Time to recover: includes leases, the slowest pass and some backoff. */
const healMs = 75_000;
/** Timeout after which a client retries a request. */
const requestMs = 6_000;
/**
 * After this time, a request rejected because of an earlier one in progress means that the earlier one was
 * lost with its process.
 */
const lostAfterMs = 3_000;

/** The state after a life, which is the same for every life. */
export interface LifeEnd {
  session: Record<string, unknown>;
  sessions: number;
  slots: unknown[];
  archives: number;
  objectsInCluster: string[];
  foldersOnNode: string[];
}

/**
 * A life on a platform: a game is uploaded, launched, autosaved, kept alive, stopped and deleted. Clients
 * retry what fails, and do nothing else about it.
 */
export class Life {
  readonly #world: CrashWorld;
  readonly #slug = `crash-${randomBytes(6).toString("hex")}`;
  readonly #clients = new Map<string, ApiClient>();
  #user: TestUser | undefined;
  #partnerKey = "";
  #archive: Buffer = Buffer.alloc(0);
  #session = "";
  #stopped: StopResponse | undefined;

  constructor(world: CrashWorld) {
    this.#world = world;
  }

  /**
   * Runs the life and returns the final state.
   *
   * @throws If something is wrong.
   */
  async live(): Promise<LifeEnd> {
    const { deps } = this.#world.api;
    this.#user = await aUser(deps);
    this.#partnerKey = (await aPartner(deps)).key;
    await this.#upload();
    await this.#launch();
    await this.#play();
    await this.#stop();
    await this.#repeat();
    await this.#deleteGame();
    return this.#end();
  }

  async #upload(): Promise<void> {
    const registered = await this.#insist("registering the game", () =>
      this.#partner.post("/api/partners/games", {
        title: "Crash",
        slug: this.#slug,
        developer: "Crash",
        ...archivedGame,
      }),
    );
    // 409: an earlier attempt succeeded.
    expect(registered.status, registered.text).to.be.oneOf([201, 409]);
    this.#archive = await anArchive();
    const uploaded = await this.#insist("the upload", () =>
      this.#partner.put(`/api/partners/games/${this.#slug}/upload`, this.#archive, {
        "content-type": "application/gzip",
      }),
    );
    expect(uploaded.status, uploaded.text).to.equal(200);
  }

  async #launch(): Promise<void> {
    const launched = await this.#insist("the launch", () => this.#sendLaunch());
    expect(launched.status, launched.text).to.equal(202);
    this.#session = launched.json<LaunchResponse>().sessionId;
    await this.#until("the session to run", async () => {
      const { status, message } = await this.#status();
      if (status !== "starting" && status !== "running")
        throw new Died(`The launched session is ${status}: ${message ?? ""}`);
      return status === "running";
    });
  }

  async #play(): Promise<void> {
    this.#checkContent();
    this.#write("first");
    await this.#until("the autosave", async () => (await this.#savedText()) === "first");
    // The recorder may lag behind the cluster.
    const before = Date.parse(
      await this.#until("the session's idle timeout to begin", async () => (await this.#status()).expiresAt),
    );
    const kept = await this.#insist("the keepalive", () =>
      this.#player.post("/api/game/keepalive", { sessionId: this.#session }),
    );
    expect(kept.status, kept.text).to.equal(200);
    expect(Date.parse(kept.json<KeepaliveResponse>().expiresAt)).to.be.at.least(before);
    this.#write("last");
  }

  async #stop(): Promise<void> {
    const stopped = await this.#insist(
      "the stop",
      () => this.#sendStop(),
      ({ status }) => status === 202,
    );
    expect(stopped.status, stopped.text).to.equal(200);
    this.#stopped = stopped.json<StopResponse>();
    // A stop that returned statistics has stored the last save.
    expect(await this.#savedText(), "the acknowledged save").to.equal("last");
    await this.#until(
      "the session's object to go",
      async () =>
        (await this.#world.fixture.sessions.find({
          name: this.#session,
          namespace: this.#world.fixture.namespace,
        })) === undefined,
    );
    await this.#until(
      "the session's pod to go",
      async () =>
        (await this.#world.fixture.pods.find({
          name: this.#session,
          namespace: this.#world.fixture.namespace,
        })) === undefined,
    );
    await this.#until("the session's folder to go", () => Promise.resolve(this.#folders().length === 0));
  }

  /** Checks that a repeated request gets the same response and changes nothing. */
  async #repeat(): Promise<void> {
    const before = await this.#stored();
    const launched = await this.#insist("the repeated launch", () => this.#sendLaunch());
    expect(launched.json(), "the response to a repeated launch").to.deep.equal({
      sessionId: this.#session,
      status: "starting",
    });
    const stopped = await this.#insist("the repeated stop", () => this.#sendStop());
    expect(stopped.json(), "the response to a repeated stop").to.deep.equal(this.#stopped);
    expect(await this.#stored(), "what is stored after repeated requests").to.deep.equal(before);
  }

  async #deleteGame(): Promise<void> {
    const deleted = await this.#insist("deleting the game", () =>
      this.#partner.delete(`/api/partners/games/${this.#slug}`),
    );
    expect(deleted.status, deleted.text).to.be.oneOf([204, 404]);
    await this.#until(
      "the GameCache to go",
      async () =>
        (await this.#world.fixture.caches.find({
          name: this.#slug,
          namespace: this.#world.fixture.namespace,
        })) === undefined,
    );
    await this.#until("the game to be deleted", async () => (await this.#game()).deletedAt !== null);
  }

  async #end(): Promise<LifeEnd> {
    const {
      fixture,
      api: {
        deps: {
          postgres: { prisma },
        },
      },
    } = this.#world;
    const { namespace } = fixture;
    const userId = this.#user?.id ?? "";
    const rows = await prisma.gameSession.findMany({ where: { userId } });
    const row = rows.find(({ id }) => id === this.#session);
    const game = await this.#game();
    const slots = await prisma.saveSlot.findMany({ where: { userId } });
    const versions = await prisma.saveVersion.findMany({
      where: { slotId: { in: slots.map(({ id }) => id) } },
    });
    // A session of a few seconds does not show what the game needs.
    expect(game.profileSessions, "sessions in the game's profile").to.be.at.most(1);
    const [sessions, pods, caches] = await Promise.all([
      fixture.sessions.listAll({ namespace }),
      fixture.pods.listAll({ namespace }),
      fixture.caches.listAll({ namespace }),
    ]);
    return {
      session: {
        status: row?.status,
        stopReason: row?.stopReason,
        failure: row?.failureReason,
        saveNotice: row?.saveNotice,
        isRecorded: row?.recordedAt !== null,
        isReleased: row?.slotReleasedAt !== null,
      },
      // A launch that was reported as failed leaves only a row with that status.
      sessions: rows.filter(
        ({ status, recordedAt, slotReleasedAt }) =>
          status !== "error" || recordedAt === null || slotReleasedAt === null,
      ).length,
      slots: await Promise.all(
        slots.map(async ({ number, generation }) => ({
          number,
          generation,
          text: await this.#savedText(),
          versions: versions.map(({ kind }) => kind),
        })),
      ),
      archives: await this.#wholeArchives(game.id),
      objectsInCluster: [...sessions.items, ...pods.items, ...caches.items].map(
        ({ metadata: { name } }) => name,
      ),
      foldersOnNode: this.#folders(),
    };
  }

  get #player(): ApiClient {
    const user = this.#user;
    if (user === undefined) throw new Error("There is no player yet.");
    return this.#client("player", () => this.#world.api.as(user, this.#world.serving));
  }

  get #partner(): ApiClient {
    return this.#client("partner", () =>
      this.#world.api.asPartner({ key: this.#partnerKey }, this.#world.serving),
    );
  }

  #client(who: string, make: () => ApiClient): ApiClient {
    const key = `${who} ${this.#world.serving.url}`;
    const client = this.#clients.get(key) ?? make();
    this.#clients.set(key, client);
    return client;
  }

  #sendLaunch(): Promise<ApiResponse> {
    return this.#player.post(
      "/api/game/launch",
      { gameSlug: this.#slug },
      { "idempotency-key": `launch-${this.#slug}` },
    );
  }

  #sendStop(): Promise<ApiResponse> {
    return this.#player.post("/api/game/stop", { sessionId: this.#session });
  }

  async #status(): Promise<GameSessionStatusResponse> {
    const response = await this.#player.get(`/api/game/session-status?sessionId=${this.#session}`);
    expect(response.status, response.text).to.equal(200);
    return response.json<GameSessionStatusResponse>();
  }

  /** Retries a request that was lost or failed with a server error, like clients do. */
  async #insist(
    what: string,
    send: () => Promise<ApiResponse>,
    isPending: (response: ApiResponse) => boolean = () => false,
  ): Promise<ApiResponse> {
    const startedMs = performance.now();
    return this.#until(what, async () => {
      const response = await withinTime(send());
      const isUnderWay = response.status === 409 && response.headers.has("retry-after");
      if (isUnderWay && performance.now() - startedMs > lostAfterMs) await this.#passLeases();
      return response.status >= 500 || response.status === 429 || isUnderWay || isPending(response)
        ? undefined
        : response;
    });
  }

  /** Waits the minute after which a request or upload that died with its process is abandoned. */
  async #passLeases(): Promise<void> {
    const { pool } = this.#world.api.deps.postgres;
    await pool.query(
      "UPDATE idempotency_keys SET leased_until = leased_until - interval '60 seconds' WHERE answer IS NULL",
    );
    await pool.query(
      "UPDATE game_uploads SET renewed_at = renewed_at - interval '60 seconds' WHERE abandoned_at IS NULL",
    );
  }

  async #until<T>(what: string, attempt: () => Promise<T>): Promise<Exclude<T, undefined | false>> {
    let died: Died | undefined;
    const result = await eventually<T | "died">(
      async () => {
        try {
          return await attempt();
        } catch (error) {
          if (!(error instanceof Died)) throw error;
          died = error;
          return "died";
        }
      },
      { what, timeoutMs: healMs, intervalMs: 40 },
    );
    if (died !== undefined) throw died;
    return result as Exclude<T, undefined | false>;
  }

  #write(text: string): void {
    execFileSync("sh", ["-c", `echo ${text} > progress`], {
      cwd: this.#world.containers.saves(this.#session),
      uid: sessionUserId,
      gid: sessionUserId,
    });
  }

  /** Returns the content of the slot's save, or undefined if there is none. */
  async #savedText(): Promise<string | undefined> {
    const { api } = this.#world;
    const slot = await api.deps.postgres.prisma.saveSlot.findFirst({
      where: { userId: this.#user?.id ?? "" },
    });
    if (slot === null || slot.objectKey === null) return undefined;
    const archive = await this.#world.readObject(slot.objectKey);
    expect(sha256Of(archive), "digest of the slot's save").to.equal(slot.sha256);
    const entry = (await unpackTar(gunzipSync(archive))).find(({ header: { name } }) =>
      name.endsWith("progress"),
    );
    return Buffer.from(entry?.data ?? [])
      .toString()
      .trim();
  }

  /** Checks that the game is played from the bytes that its partner uploaded. */
  #checkContent(): void {
    const content = contentDirectory(this.#world.root, sha256Of(this.#archive));
    expect(readFileSync(join(content, "play.sh"), "utf8")).to.equal("#!/bin/sh");
    expect(readFileSync(join(content, "engine/data.bin")).length).to.equal(2000);
  }

  async #game() {
    return this.#world.api.deps.postgres.prisma.game.findUniqueOrThrow({ where: { slug: this.#slug } });
  }

  async #stored(): Promise<unknown> {
    const { prisma } = this.#world.api.deps.postgres;
    const userId = this.#user?.id ?? "";
    const [sessions, slots, game] = await Promise.all([
      prisma.gameSession.findMany({ where: { userId } }),
      prisma.saveSlot.findMany({ where: { userId } }),
      this.#game(),
    ]);
    return { sessions, slots, profile: game.profileSessions };
  }

  /** Returns the number of complete archives of the game that the database refers to. */
  async #wholeArchives(gameId: string): Promise<number> {
    const versions = await this.#world.api.deps.postgres.prisma.gameVersion.findMany({
      where: { gameId, removedAt: null },
    });
    for (const { objectKey, sha256 } of versions)
      expect(sha256Of(await this.#world.readObject(objectKey)), `digest of ${objectKey}`).to.equal(sha256);
    return versions.length;
  }

  #folders(): string[] {
    return ["sessions", "trash"].flatMap((name) => {
      const folder = join(this.#world.root, "v1", name);
      return existsSync(folder) ? readdirSync(folder).map((entry) => `${name}/${entry}`) : [];
    });
  }
}

/** An error that does not go away by waiting. */
class Died extends Error {}

async function withinTime(response: Promise<ApiResponse>): Promise<ApiResponse> {
  let timer: NodeJS.Timeout | undefined;
  response.catch(() => undefined);
  const tooLate = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error("There was no response in time.")), requestMs);
  });
  return Promise.race([response, tooLate]).finally(() => clearTimeout(timer));
}
