import { platform } from "./platform.ts";
import { DiaryPlayer, type DiarySession } from "./diarySession.ts";
import { publishDiary } from "./diaryGame.ts";
import { GameNodeHost } from "./gameNodeHost.ts";
import { expectOrder } from "./invariants.ts";

/** Sessions in three phases at the time of a fault on the node of the first two. */
export interface Phases {
  /** A running session with a stored save. */
  playing: DiarySession;
  podUid: string;
  /** A session that is stopping: its game uses its whole grace period. */
  stopping: DiarySession;
  /** A running session on the other node. */
  neighbour: DiarySession;
}

/**
 * Shared by tests of faults on a cluster with two game nodes. After each test, heals all nodes and ends all
 * sessions.
 */
export class NodeFault {
  readonly #players: DiaryPlayer[] = [];
  readonly #repairs: (() => Promise<unknown>)[] = [];
  #hosts: GameNodeHost[] = [];
  #slug = "";

  /** Creates an instance for the calling suite. */
  static ofSuite(): NodeFault {
    const faults = new NodeFault();
    before(() => faults.#prepare());
    afterEach(async function () {
      await faults.#clear(this.currentTest?.state !== "passed");
    });
    return faults;
  }

  /** The node that the fault affects. */
  get node(): GameNodeHost {
    return this.#host(0);
  }

  /** The node that is usually not affected. */
  get other(): GameNodeHost {
    return this.#host(1);
  }

  /** Registers a repair that runs after the test, whether it passes or fails. */
  repairAfter(repair: () => Promise<unknown>): void {
    this.#repairs.push(repair);
  }

  /** Creates a player of the diary, or of the given game. */
  async player(slug = this.#slug): Promise<DiaryPlayer> {
    const player = await DiaryPlayer.signIn(slug);
    this.#players.push(player);
    return player;
  }

  /**
   * Launches a session while the other node is cordoned, and returns it once it is placed. `strike` injects a
   * fault right before the launch.
   */
  async launchOn(
    host: GameNodeHost,
    player: DiaryPlayer,
    strike?: () => Promise<void>,
  ): Promise<DiarySession> {
    return this.#only(host, async () => {
      await strike?.();
      const session = await player.launch();
      await session.placedOn();
      return session;
    });
  }

  /** Starts two sessions on the node and one on the other, all running. */
  async play(): Promise<Pick<Phases, "playing" | "podUid" | "neighbour"> & { second: DiarySession }> {
    const [first, second, third] = [await this.player(), await this.player(), await this.player()];
    const playing = await this.launchOn(this.node, first);
    const next = await this.launchOn(this.node, second);
    const neighbour = await this.launchOn(this.other, third);
    await Promise.all([playing, next, neighbour].map((session) => session.runs()));
    await Promise.all([playing, next].map((session) => session.writes()));
    return { playing, second: next, neighbour, podUid: await playing.podUid() };
  }

  /** Does the same, and then stops one of the two sessions. */
  async phases(): Promise<Phases> {
    const { second: stopping, ...rest } = await this.play();
    await stopping.beginsToStop();
    return { ...rest, stopping };
  }

  /**
   * Ends the sessions, and expects that nothing of them is left and that all remaining state is consistent.
   */
  async expectOrder(...ended: readonly DiarySession[]): Promise<void> {
    await expectOrder(
      [this.node, this.other],
      ended.map(({ id }) => id),
    );
  }

  #host(index: number): GameNodeHost {
    const host = this.#hosts[index];
    if (host === undefined) throw new Error("The cluster has not two game nodes.");
    return host;
  }

  async #prepare(): Promise<void> {
    const { items } = await (await platform()).gameNodes.list({});
    this.#hosts = items.map(({ metadata }) => new GameNodeHost(metadata.name));
    for (const host of this.#hosts) await host.takesSessions(true);
    this.#slug = await publishDiary();
  }

  async #only<T>(host: GameNodeHost, act: () => Promise<T>): Promise<T> {
    const installed = await platform();
    const others = this.#hosts.filter(({ name }) => name !== host.name);
    try {
      for (const { name } of others) await installed.kubectl(["cordon", name]);
      for (const other of others) await other.takesSessions(false);
      return await act();
    } finally {
      for (const { name } of others) await installed.kubectl(["uncordon", name]);
    }
  }

  async #clear(hasFailed: boolean): Promise<void> {
    if (hasFailed) console.error(await (await platform()).diagnosis());
    const players = this.#players.splice(0).map((player) => () => player.discard());
    const failures: unknown[] = [];
    for (const repair of [
      ...this.#repairs.splice(0).reverse(),
      ...this.#hosts.map((host) => () => host.heal()),
      ...players,
    ]) {
      // A failed repair must not prevent the others.
      await repair().catch((error: unknown) => failures.push(error));
    }
    if (failures.length > 0)
      throw new AggregateError(
        failures,
        `The cluster is not as it was before: ${failures.map(String).join("; ")}`,
      );
  }
}
