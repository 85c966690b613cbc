import { type GameSession, gameSessions } from "#contracts/crd/gameSession.ts";
import type { GameSessionSpec, StopReason } from "#contracts/crd/gameSessionSpec.ts";
import { fieldManagers, finalizers, keptAliveUntilAnnotation, labels } from "#contracts/crd/names.ts";
import { isAlreadyExists, isInvalid, isNotFound, isUnreachable } from "#kube/api/errors.ts";
import { removeFinalizer } from "#kube/controllers/finalizers.ts";
import type { Draft, Stored } from "#kube/api/object.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import type { KubeTransport } from "#kube/client/transport.ts";

/** Timeout of requests that players wait for. The relay and the recorder finish what failed. */
const deadlineMs = 3_000;
const options = { deadlineMs, fieldManager: fieldManagers.api };
/** Timeout of an additional read. */
const lookDeadlineMs = 1_000;

/** Writes GameSessions for the API. Every call is idempotent. */
export class GameSessionWriter {
  readonly #client: ResourceClient<GameSession>;
  readonly #namespace: string;

  constructor(transport: KubeTransport, sessionsNamespace: string) {
    this.#client = new ResourceClient(transport, gameSessions);
    this.#namespace = sessionsNamespace;
  }

  /**
   * Creates the object. An existing one of that name belongs to this session, because nobody else generates
   * these ids. The recorder follows it, unless it has no row.
   */
  async create(id: string, spec: GameSessionSpec, { isRecorded = true } = {}): Promise<void> {
    const draft: Draft<GameSession> = {
      metadata: {
        name: id,
        namespace: this.#namespace,
        ...(isRecorded ? { finalizers: [finalizers.recorder] } : {}),
        labels: { [labels.game]: spec.gameCacheRef.name },
      },
      spec,
    };
    try {
      await this.#client.create(draft, options);
    } catch (error) {
      if (isAlreadyExists(error)) return;
      // The request may have succeeded: the response was lost, or this process was frozen past its deadline.
      if (!isUnreachable(error) || !(await this.#isThere(id))) throw error;
    }
  }

  /** Reads the object from the API server, bypassing the cache; undefined if it does not exist. */
  async find(id: string): Promise<Stored<GameSession> | undefined> {
    return this.#client.find(this.#ref(id), { deadlineMs });
  }

  /** Requests a graceful stop. Returns false if the object does not exist. An earlier reason is kept. */
  async requestStop(id: string, stopReason: StopReason): Promise<boolean> {
    try {
      await this.#client.mergePatch(
        this.#ref(id),
        { spec: { desiredState: "Stopped", stopReason } },
        options,
      );
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      // The reason is immutable: the session was already stopped for another one.
      if (isInvalid(error)) return true;
      throw error;
    }
  }

  /**
   * Moves the time after which the operator considers the session idle. `keptAliveUntil` records a keepalive
   * that the database could not store.
   */
  async extend(id: string, expiresAt: Date, keptAliveUntil?: Date): Promise<void> {
    const metadata = { annotations: { [keptAliveUntilAnnotation]: keptAliveUntil?.toISOString() } };
    try {
      await this.#client.mergePatch(
        this.#ref(id),
        { ...(keptAliveUntil !== undefined && { metadata }), spec: { expiresAt: expiresAt.toISOString() } },
        options,
      );
    } catch (error) {
      // The object is gone, or another keepalive has moved the time further. Nothing is left to do.
      if (!isNotFound(error) && !isInvalid(error)) throw error;
    }
  }

  /**
   * Requests a save. Returns false if the object does not exist. If a fast clock has already requested a
   * later time, this request uses the next millisecond after it.
   */
  async requestSave(id: string, at: Date): Promise<boolean> {
    try {
      return await this.#moveSaveRequest(id, at);
    } catch (error) {
      if (!isInvalid(error)) throw error;
      const current = await this.find(id);
      if (current === undefined) return false;
      const last = current.spec.saveRequestedAt;
      if (last === undefined) throw error;
      return await this.#moveSaveRequest(id, new Date(Math.max(at.getTime(), Date.parse(last) + 1))).catch(
        (again: unknown) => {
          // A concurrent request was stored; its save is equivalent.
          if (isInvalid(again)) return true;
          throw again;
        },
      );
    }
  }

  /** Removes the recorder's finalizer once the result is in the database. */
  async release(gameSession: Stored<GameSession>): Promise<void> {
    await removeFinalizer(this.#client, gameSession, finalizers.recorder, { deadlineMs });
  }

  async #moveSaveRequest(id: string, at: Date): Promise<boolean> {
    try {
      await this.#client.mergePatch(this.#ref(id), { spec: { saveRequestedAt: at.toISOString() } }, options);
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  /** Returns whether the API server has the object; false also if it does not respond soon. */
  async #isThere(id: string): Promise<boolean> {
    const found = await this.#client
      .find(this.#ref(id), { deadlineMs: lookDeadlineMs })
      .catch(() => undefined);
    return found !== undefined;
  }

  #ref(name: string): { name: string; namespace: string } {
    return { name, namespace: this.#namespace };
  }
}
