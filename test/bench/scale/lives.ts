import { type GameSession, gameSessions } from "#contracts/crd/gameSession.ts";
import type { GameSessionSpec } from "#contracts/crd/gameSessionSpec.ts";
import { publicStatusOf, isFinished } from "#contracts/crd/sessionState.ts";
import { ObjectCache } from "#kube/cache/cache.ts";
import { keyOf, type Stored } from "#kube/api/object.ts";
import { Reflector } from "#kube/cache/reflector.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import { withTimeout } from "#runtime/scheduling/deadline.ts";
import { sharedKubeApiServer } from "#test/support/cluster/kubeApiServer.ts";
import type { OperatorFixture } from "#test/support/fixtures/operatorFixture.ts";

/** Timeout of one wait within a life. */
const timeoutMs = 120_000;

/** Runs whole session lives, and follows them with a separate watch. */
export class Lives {
  readonly #fixture: OperatorFixture;
  readonly #cache = new ObjectCache<GameSession>();
  readonly #reflector: Reflector<GameSession>;

  private constructor(
    fixture: OperatorFixture,
    reflector: (cache: ObjectCache<GameSession>) => Reflector<GameSession>,
  ) {
    this.#fixture = fixture;
    this.#reflector = reflector(this.#cache);
  }

  static async watch(fixture: OperatorFixture): Promise<Lives> {
    const client = new ResourceClient((await sharedKubeApiServer()).admin, gameSessions);
    const lives = new Lives(
      fixture,
      (cache) => new Reflector({ client, cache, namespace: fixture.namespace }),
    );
    lives.#reflector.start();
    await lives.#reflector.waitForSync();
    return lives;
  }

  /** Runs `count` lives, `atOnce` of them concurrently, and returns the completed lives per second. */
  async rate(count: number, atOnce: number, spec: Partial<GameSessionSpec> = {}): Promise<number> {
    const startedMs = performance.now();
    let left = count;
    await Promise.all(
      Array.from({ length: atOnce }, async () => {
        while (left-- > 0) await this.#live(spec);
      }),
    );
    return count / ((performance.now() - startedMs) / 1000);
  }

  async stop(): Promise<void> {
    await this.#reflector.stop();
  }

  async #live(spec: Partial<GameSessionSpec>): Promise<void> {
    const session = await this.#fixture.launch({ ttlSecondsAfterFinished: 1, ...spec });
    await this.#until(session, (now) => now !== undefined && publicStatusOf(now) === "running", "to run");
    await this.#fixture.sessions.mergePatch(session.metadata, {
      spec: { desiredState: "Stopped", stopReason: "UserRequested" },
    });
    // A deleted session was finished before.
    await this.#until(session, (now) => now === undefined || isFinished(now), "to be finished");
  }

  /** Resolves when the session matches; undefined means that it is deleted. */
  async #until(
    session: Stored<GameSession>,
    isRight: (now: Stored<GameSession> | undefined) => boolean,
    what: string,
  ): Promise<void> {
    const key = keyOf(session);
    this.#cache.upsert(session);
    if (isRight(this.#cache.get(key))) return;
    const right = Promise.withResolvers<undefined>();
    const unsubscribe = this.#cache.subscribe(({ object }) => {
      if (keyOf(object) === key && isRight(this.#cache.get(key))) right.resolve(undefined);
    });
    try {
      await withTimeout(right.promise, timeoutMs, `Waiting for ${key} ${what}`);
    } finally {
      unsubscribe();
    }
  }
}
