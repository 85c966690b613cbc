import { z } from "zod";
import { isFinished } from "#contracts/crd/sessionState.ts";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import { finalizers, labels } from "#contracts/crd/names.ts";
import type { Pod } from "#kube/api/builtin.ts";
import type { Stored } from "#kube/api/object.ts";
import type { InvariantStores } from "./invariantStores.ts";

/**
 * How long temporary inconsistencies may last while the platform recovers, according to the promise of a
 * minute.
 */
const graceMs = 60_000;

const seconds = z.number().nullable();

/** Result of the database query, a single statement for a consistent snapshot. */
const Rows = z.object({
  sessions: z.array(
    z.object({
      id: z.string(),
      user: z.string(),
      status: z.enum(["starting", "running", "stopping", "stopped", "error"]),
      isReleased: z.boolean(),
      startSeconds: z.number(),
      ageSeconds: z.number(),
      expiredSeconds: seconds,
      stoppingSeconds: seconds,
    }),
  ),
  slots: z.array(
    z.object({
      id: z.string(),
      objectKey: z.string().nullable(),
      sha256: z.string().nullable(),
      generation: z.number(),
      isUnreadable: z.boolean(),
    }),
  ),
  archives: z.array(z.object({ objectKey: z.string(), sha256: z.string() })),
});
type Rows = z.infer<typeof Rows>;

const recent = "now() - interval '2 hours'";
const statement = `SELECT json_build_object(
  'sessions', (SELECT coalesce(json_agg(json_build_object('id', id, 'user', user_id, 'status', status, 'isReleased', slot_released_at IS NOT NULL,
      'startSeconds', coalesce((spec->>'startDeadlineSeconds')::float8, 0) + coalesce((spec->>'downloadDeadlineSeconds')::float8, 0),
      'ageSeconds', extract(epoch FROM now() - started_at)::float8, 'expiredSeconds', extract(epoch FROM now() - expires_at)::float8,
      'stoppingSeconds', extract(epoch FROM now() - stopping_at)::float8)), '[]') FROM game_sessions WHERE ended_at IS NULL OR ended_at > ${recent}),
  'slots', (SELECT coalesce(json_agg(json_build_object('id', s.id, 'objectKey', s.object_key, 'sha256', s.sha256, 'generation', s.generation,
      'isUnreadable', EXISTS (SELECT FROM save_versions v WHERE v.slot_id = s.id AND v.object_key = s.object_key AND v.unreadable_at IS NOT NULL))), '[]') FROM save_slots s WHERE s.last_played_at > ${recent}),
  'archives', (SELECT coalesce(json_agg(json_build_object('objectKey', v.object_key, 'sha256', v.sha256)), '[]') FROM games g
      JOIN game_versions v ON v.id = g.current_version_id WHERE g.deleted_at IS NULL AND v.removed_at IS NULL AND v.created_at > ${recent}))`;

/** Options of the checks. */
export interface InvariantOptions {
  now?: () => number;
  /** Returns what is currently running, which is recorded with each inconsistency. */
  during?: () => string;
}

/**
 * Checks I1 to I5 of docs/reliability.md, which must always hold, even during failures. (I6, that repeated
 * requests change nothing, is checked where requests are repeated.) Temporary inconsistencies become
 * violations after a minute.
 */
export class Invariants {
  readonly #stores: InvariantStores;
  readonly #now: () => number;
  readonly #during: (() => string) | undefined;
  /** Start of each inconsistency, and what was running at that time. */
  readonly #since = new Map<string, { ms: number; during: string | undefined }>();
  /** Violations that were reported already. */
  readonly #known = new Set<string>();
  #untold: string[] = [];
  readonly #slots = new Map<string, { generation: number; hadSave: boolean }>();
  /** Objects whose content was verified. Nothing else is ever stored under their keys. */
  readonly #whole = new Set<string>();
  #turn: Promise<void> = Promise.resolve();

  constructor(stores: InvariantStores, { now = () => performance.now(), during }: InvariantOptions = {}) {
    this.#stores = stores;
    this.#now = now;
    this.#during = during;
  }

  /** Returns new violations as sentences. */
  takeViolations(): string[] {
    return this.#untold.splice(0);
  }

  /**
   * Checks once, after checks that were requested before.
   *
   * @throws If a store is unavailable, which is not a violation.
   */
  look(): Promise<void> {
    // Concurrent checks could see slots move backwards.
    const look = this.#turn.then(() => this.#look());
    this.#turn = look.catch(() => undefined);
    return look;
  }

  /** Verifies new objects that slots and games refer to. */
  async readObjects(): Promise<void> {
    const { slots, archives } = Rows.parse(await this.#stores.json(statement));
    const objects = [
      ...slots
        .filter(({ isUnreadable }) => !isUnreadable)
        .map(({ id, ...object }) => ({ ...object, what: `I3: the save of slot ${id}` })),
      ...archives.map((object) => ({ ...object, what: "I4: the current archive" })),
    ].flatMap(({ objectKey, sha256, what }) =>
      objectKey === null || this.#whole.has(objectKey) ? [] : [{ objectKey, sha256, what }],
    );
    const digests = await this.#stores.digestsOf(objects.map(({ objectKey }) => objectKey));
    for (const { objectKey, sha256, what } of objects) {
      const digest = digests.get(objectKey);
      if (digest !== undefined && digest === sha256) this.#whole.add(objectKey);
      else
        this.#violate(
          `${what}, ${objectKey}, ${digest === undefined ? "is missing" : "has other bytes than were stored"}.`,
        );
    }
  }

  async #look(): Promise<void> {
    // Reads rows before objects: what is created in between has both, or briefly only an object.
    const [rows, gameSessions, pods] = await this.#read();
    const outOfStep = new Set<string>();
    this.#checkPlayers(rows);
    this.#checkObjects(rows, gameSessions, pods, outOfStep);
    this.#checkDeadlines(rows, outOfStep);
    this.#decide(outOfStep);
    this.#checkSlots(rows);
  }

  async #read(): Promise<[Rows, Stored<GameSession>[], Stored<Pod>[]]> {
    try {
      const rows = Rows.parse(await this.#stores.json(statement));
      return [rows, ...(await Promise.all([this.#stores.gameSessions(), this.#stores.pods()]))];
    } catch (error) {
      // Nothing recovers without the store, so the minute starts again when it is back.
      this.#since.clear();
      throw error;
    }
  }

  #checkPlayers({ sessions }: Rows): void {
    const active = Map.groupBy(sessions.filter(isActive), ({ user }) => user);
    for (const [user, { length }] of active)
      if (length > 1) this.#violate(`I1: user ${user} has ${length} active sessions.`);
  }

  #checkObjects(
    { sessions }: Rows,
    gameSessions: readonly Stored<GameSession>[],
    pods: readonly Stored<Pod>[],
    outOfStep: Set<string>,
  ): void {
    const rowOf = new Map(sessions.map((row) => [row.id, row]));
    const objectOf = new Map(gameSessions.map((object) => [object.metadata.name, object]));
    for (const row of sessions)
      if (isActive(row) && !objectOf.has(row.id))
        outOfStep.add(`I2: the active session ${row.id} has no object.`);
    for (const { metadata, ...object } of gameSessions) {
      // Sessions that an admin has created have no row.
      const isOurs = metadata.finalizers?.includes(finalizers.recorder) ?? false;
      const isGoing = metadata.deletionTimestamp !== undefined || isFinished({ metadata, ...object });
      const row = rowOf.get(metadata.name);
      if (isOurs && !isGoing && row === undefined)
        outOfStep.add(`I2: the object ${metadata.name} has no row.`);
      if (isOurs && !isGoing && row !== undefined && !isActive(row) && row.isReleased)
        outOfStep.add(`I2: the object ${metadata.name} of an ended session is not removed.`);
    }
    const podsOf = Map.groupBy(pods, ({ metadata }) => metadata.labels?.[labels.gameSession]);
    for (const [name, { length }] of podsOf) {
      if (name === undefined) continue; // A probe.
      if (length > 1) this.#violate(`I2: the session ${name} has ${length} pods.`);
      if (!objectOf.has(name)) outOfStep.add(`I2: the pod ${name} has no session.`);
    }
  }

  #checkDeadlines({ sessions }: Rows, outOfStep: Set<string>): void {
    for (const { id, status, startSeconds, ageSeconds, expiredSeconds, stoppingSeconds } of sessions) {
      if (status === "starting" && startSeconds <= 0)
        this.#violate(`I5: the starting session ${id} has no deadline.`);
      if (status === "running" && expiredSeconds === null)
        this.#violate(`I5: the running session ${id} never expires.`);
      if (status === "stopping" && stoppingSeconds === null)
        this.#violate(`I5: nobody knows since when the session ${id} stops.`);
      // A session may try two nodes, each for the whole time.
      if (status === "starting" && ageSeconds > 2 * startSeconds)
        outOfStep.add(`I5: the session ${id} starts longer than it may.`);
      if (status === "running" && (expiredSeconds ?? 0) > 0)
        outOfStep.add(`I5: the session ${id} runs on after its expiry.`);
      if (status === "stopping" && (stoppingSeconds ?? 0) > 60)
        outOfStep.add(`I5: the session ${id} keeps its player for more than a minute after the stop.`);
    }
  }

  #checkSlots({ slots }: Rows): void {
    for (const { id, generation, objectKey } of slots) {
      const before = this.#slots.get(id);
      if (before !== undefined && generation < before.generation)
        this.#violate(`I3: the slot ${id} went back from generation ${before.generation} to ${generation}.`);
      if (before?.hadSave === true && objectKey === null)
        this.#violate(`I3: the slot ${id} has lost its save.`);
      this.#slots.set(id, { generation, hadSave: objectKey !== null });
    }
  }

  /** Records the start of inconsistencies. Those that last longer than a minute become violations. */
  #decide(outOfStep: ReadonlySet<string>): void {
    for (const what of this.#since.keys()) if (!outOfStep.has(what)) this.#since.delete(what);
    for (const what of outOfStep) {
      const since = this.#since.get(what) ?? { ms: this.#now(), during: this.#during?.() };
      this.#since.set(what, since);
      if (this.#now() - since.ms > graceMs)
        this.#violate(
          since.during === undefined ? what : `${what} (It has been so since “${since.during}”.)`,
        );
    }
  }

  #violate(what: string): void {
    if (this.#known.has(what)) return;
    this.#known.add(what);
    this.#untold.push(what);
  }
}

function isActive({ status }: Rows["sessions"][number]): boolean {
  return status === "starting" || status === "running" || status === "stopping";
}
