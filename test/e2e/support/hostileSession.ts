import { isFinished } from "#contracts/crd/sessionState.ts";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import { isConditionTrue } from "#kube/api/conditions.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { PlayerHttp } from "#test/support/http/playerHttp.ts";
import { platform, sessionsNamespace } from "./platform.ts";

/** Far below the idle timeout of test/e2e/values.yaml. */
const keepaliveMs = 15_000;

/** A session of the hostile game, whose player has no browser. */
export class HostileSession {
  readonly id: string;
  readonly player: PlayerHttp;
  readonly #keepalive: NodeJS.Timeout;

  private constructor(id: string, player: PlayerHttp) {
    this.id = id;
    this.player = player;
    this.#keepalive = setInterval(
      () => void player.keepAlive(id).catch(() => undefined),
      keepaliveMs,
    ).unref();
  }

  /** Launches a session. Resolves when it is running and its game waits for `begin`. */
  static async launch(slug: string): Promise<HostileSession> {
    const installed = await platform();
    const player = await PlayerHttp.signIn(installed.baseUrl, await installed.createPlayer());
    const session = new HostileSession(await player.launch(slug), player);
    await player.whenRunning(session.id);
    await session.tells("waits");
    return session;
  }

  async object(): Promise<GameSession> {
    return (await platform()).gameSessions.get({ namespace: sessionsNamespace, name: this.id });
  }

  /** Returns the session's node. */
  async nodeName(): Promise<string> {
    const name = (await this.object()).status?.nodeName;
    if (name === undefined) throw new Error(`${this.id} has no node.`);
    return name;
  }

  /** Returns the uid of its pod. */
  async podUid(): Promise<string> {
    return (await (await platform()).pods.get({ namespace: sessionsNamespace, name: this.id })).metadata.uid;
  }

  async podIp(): Promise<string> {
    const ip = (await this.object()).status?.podIp;
    if (ip === undefined) throw new Error(`${this.id} has no address.`);
    return ip;
  }

  /** Lets the game begin its act. */
  async begin(): Promise<void> {
    await this.#kubectl("exec", this.id, "-c", "game", "--", "touch", "/tmp/runtime/begin");
  }

  /** Returns the results that the game has reported so far, by name. The last report of a name counts. */
  async results(): Promise<Map<string, string>> {
    const log = await this.#kubectl("logs", this.id, "-c", "game", "--tail", "5000");
    const lines = log.split("\n").flatMap((line) => /^act (.+?): (.*)$/.exec(line)?.slice(1, 3) ?? []);
    return new Map(
      Array.from({ length: lines.length / 2 }, (_, index) => [
        lines[2 * index] ?? "",
        lines[2 * index + 1] ?? "",
      ]),
    );
  }

  /** Waits until the game has reported this result, and returns all results. */
  tells(result: string | RegExp, timeoutMs = 30_000): Promise<Map<string, string>> {
    const isIt = (line: string): boolean =>
      typeof result === "string" ? line === result : result.test(line);
    return eventually(
      async () => {
        const results = await this.results();
        if (![...results].some(([name, value]) => isIt(value) || isIt(`${name}: ${value}`)))
          throw new Error(JSON.stringify([...results]));
        return results;
      },
      { timeoutMs, intervalMs: 500, what: `${this.id} to tell ${String(result)}` },
    );
  }

  /** Waits until a save of the session is in the object store, for acts that must not affect saves. */
  storesProgress(): Promise<string> {
    return eventually(async () => (await this.object()).status?.save?.objectKey, {
      timeoutMs: 45_000,
      intervalMs: 500,
      what: `${this.id} to have a stored save`,
    });
  }

  /** Waits for the end of the session. Stops it first unless `isAsked` is false. */
  async finish({ isAsked = true } = {}): Promise<GameSession> {
    if (isAsked) await this.player.stop(this.id);
    const finished = await this.#objectWhen(isFinished, "be finished");
    clearInterval(this.#keepalive);
    return finished;
  }

  /** Waits until the last save of a finished session is stored, which may happen after the session's end. */
  persistsSave(): Promise<GameSession> {
    return this.#objectWhen(
      ({ status }) => isConditionTrue(status?.conditions, "SavePersisted"),
      "have its save stored",
    );
  }

  /** Ends the session if it is still active. */
  async discard(): Promise<void> {
    clearInterval(this.#keepalive);
    await this.player.stop(this.id).catch(() => undefined);
  }

  #objectWhen(isIt: (object: GameSession) => boolean, what: string): Promise<GameSession> {
    return eventually(
      async () => {
        const object = await this.object();
        if (!isIt(object)) throw new Error(JSON.stringify(object.status));
        return object;
      },
      { timeoutMs: 120_000, intervalMs: 500, what: `${this.id} to ${what}` },
    );
  }

  async #kubectl(...args: string[]): Promise<string> {
    return (await platform()).kubectl(["-n", sessionsNamespace, ...args]);
  }
}

/**
 * Returns a function that launches sessions of the hostile game. After each test, ends those that are active.
 */
export function hostileSessionsOfSuite(): (slug: string) => Promise<HostileSession> {
  const sessions: HostileSession[] = [];
  afterEach(async () => {
    await Promise.all(sessions.splice(0).map((session) => session.discard()));
  });
  return async (slug) => {
    const session = await HostileSession.launch(slug);
    sessions.push(session);
    return session;
  };
}
