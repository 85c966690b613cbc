import { type GameSession, gameSessions } from "#contracts/crd/gameSession.ts";
import type { GameSessionSpec, StopReason } from "#contracts/crd/gameSessionSpec.ts";
import { fieldManagers, finalizers, keptAliveUntilAnnotation, labels } from "#contracts/crd/names.ts";
import { isAlreadyExists, isInvalid, isNotFound, isUnreachable } from "#kube/api/errors.ts";
import { removeFinalizer } from "#kube/controllers/finalizers.ts";
import type { Draft, Stored } from "#kube/api/object.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import type { KubeTransport } from "#kube/client/transport.ts";

/** The timeout of a request that players wait for: the relay and the recorder finish what failed. */
const deadlineMs = 3_000;
const options = { deadlineMs, fieldManager: fieldManagers.api };
/** A look that comes on top of that. */
const lookDeadlineMs = 1_000;

/** All that the API writes to GameSessions. Each call may be repeated. */
export class GameSessionWriter {
  readonly #client: ResourceClient<GameSession>;
  readonly #namespace: string;

  constructor(transport: KubeTransport, sessionsNamespace: string) {
    this.#client = new ResourceClient(transport, gameSessions);
    this.#namespace = sessionsNamespace;
  }

  /** Creates the object. An object of that name is this session's, because nobody else makes these ids. */
  async create(id: string, spec: GameSessionSpec): Promise<void> {
    const draft: Draft<GameSession> = {
      metadata: {
        name: id,
        namespace: this.#namespace,
        finalizers: [finalizers.recorder],
        labels: { [labels.game]: spec.gameCacheRef.name },
      },
      spec,
    };
    try {
      await this.#client.create(draft, options);
    } catch (error) {
      if (isAlreadyExists(error)) return;
      // It may have been carried out nevertheless: the response was lost, or this process was frozen until it
      // was too late.
      if (!isUnreachable(error) || !(await this.#isThere(id))) throw error;
    }
  }

  /** Returns the object as it is now, from the API server itself; undefined when there is none. */
  async find(id: string): Promise<Stored<GameSession> | undefined> {
    return this.#client.find(this.#ref(id), { deadlineMs });
  }

  /**
   * Requests a graceful stop; resolves with false when there is no such object. A reason that was given
   * before stays.
   */
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
      // The reason is immutable: somebody else has stopped the session for another one.
      if (isInvalid(error)) return true;
      throw error;
    }
  }

  /**
   * Moves the time after which the operator regards the session as idle. `keptAliveUntil` covers what a
   * keepalive promised while the database could not store it.
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
      // Either the object is gone, or another keepalive has moved the time further (it only moves forward):
      // nothing is left to do.
      if (!isNotFound(error) && !isInvalid(error)) throw error;
    }
  }

  /**
   * Asks for the present state of play to be saved; resolves with false when there is no such object. Where a
   * clock that was ahead has asked for a later time already, this request is for a moment after that.
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
          // Somebody else has asked meanwhile: that save is as good.
          if (isInvalid(again)) return true;
          throw again;
        },
      );
    }
  }

  /** Removes the recorder's finalizer from an object whose result is in the database. */
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

  /** Returns whether the API server has the object; false also when it does not say so soon. */
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
