import { randomBytes } from "node:crypto";
import { isFinished } from "#contracts/crd/sessionState.ts";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import type { LaunchRequest } from "#contracts/http/gameSessions.ts";
import type { SaveSlotHistory } from "#contracts/http/saves.ts";
import type { Stored } from "#kube/api/object.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { PlayerHttp } from "#test/support/http/playerHttp.ts";
import { platform, sessionsNamespace } from "./platform.ts";
import { readStoredSave } from "./storedSave.ts";

/** Promised by docs/reliability.md: after this time, a player is free again and a lost session has ended. */
export const promisedMs = 60_000;
/** More often than a page, because a request may reach a frozen replica. */
const keepaliveMs = 5_000;
const requestMs = 4_000;
const launchMs = 90_000;

/** A player of the diary without a browser, who retries like one. */
export class DiaryPlayer {
  readonly http: PlayerHttp;
  readonly slug: string;
  readonly #keepalives = new Set<NodeJS.Timeout>();
  readonly #launched = new Set<string>();

  private constructor(http: PlayerHttp, slug: string) {
    this.http = http;
    this.slug = slug;
  }

  static async signIn(slug: string): Promise<DiaryPlayer> {
    const installed = await platform();
    const player = await installed.createPlayer();
    return new DiaryPlayer(
      await PlayerHttp.signIn(installed.baseUrl, player, { timeoutMs: requestMs }),
      slug,
    );
  }

  /** Launches the game as soon as possible. Does not repeat a request whose response was lost. */
  async launch(
    choice: Pick<LaunchRequest, "saveSlotId" | "fresh"> = {},
    timeoutMs = launchMs,
  ): Promise<DiarySession> {
    const id = await eventually(
      async () => {
        const {
          sessions: [active],
        } = await this.http.sessions();
        // The API may not know yet that an earlier session has ended.
        if (active !== undefined && this.#launched.has(active.sessionId)) return undefined;
        return active?.sessionId ?? (await this.http.launch(this.slug, choice));
      },
      { timeoutMs, intervalMs: 1000, what: `a launch of ${this.slug}` },
    );
    this.#launched.add(id);
    this.#keepalives.add(
      setInterval(() => void this.http.keepAlive(id).catch(() => undefined), keepaliveMs).unref(),
    );
    return new DiarySession(id, this);
  }

  /** Launches a session and waits until it is running. */
  async play(choice: Pick<LaunchRequest, "saveSlotId" | "fresh"> = {}): Promise<DiarySession> {
    const session = await this.launch(choice);
    await session.runs();
    return session;
  }

  /** Plays one more session of the slot to its end, and returns the diary in its save. */
  async playsOn(choice: Pick<LaunchRequest, "saveSlotId" | "fresh"> = {}): Promise<string[]> {
    const session = await this.play(choice);
    await session.writes();
    await session.stop();
    const { status } = await session.finishes();
    if (status?.save?.final !== true)
      throw new Error(`${session.id} has ended without its save: ${JSON.stringify(status)}`);
    return readDiary(status.save.objectKey);
  }

  /** Waits until the API reports no active session, so that the player may launch another one. */
  async isFree(timeoutMs = promisedMs): Promise<void> {
    await eventually(async () => (await this.http.sessions()).sessions.length === 0, {
      timeoutMs,
      intervalMs: 1000,
      what: "the player to be free",
    });
  }

  /** Returns the slot once it can be played. */
  async freeSlot(number = 1, timeoutMs = promisedMs): Promise<SaveSlotHistory & { id: string }> {
    return eventually(
      async () => {
        const { slots } = await this.http.saves(this.slug);
        const slot = slots.find(({ slotNumber }) => slotNumber === number);
        if (slot === undefined || slot.id === null || slot.state !== "free")
          throw new Error(JSON.stringify(slots));
        return { ...slot, id: slot.id };
      },
      { timeoutMs, intervalMs: 1000, what: `slot ${number} of ${this.slug} to be free` },
    );
  }

  /** Waits until the slot has a conflict copy. */
  async hasConflict(number = 1, timeoutMs = promisedMs): Promise<void> {
    await eventually(
      async () => {
        const { slots } = await this.http.saves(this.slug);
        if (
          !slots.some(
            ({ slotNumber, versions }) =>
              slotNumber === number &&
              versions.some(({ kind, isReadable }) => kind === "conflict" && isReadable),
          )
        )
          throw new Error(JSON.stringify(slots));
        return true;
      },
      { timeoutMs, intervalMs: 1000, what: `a conflict copy of slot ${number}` },
    );
  }

  /** Ends all active sessions. */
  async discard(): Promise<void> {
    for (const keepalive of this.#keepalives) clearInterval(keepalive);
    const { sessions } = await this.http.sessions();
    await Promise.all(sessions.map(({ sessionId }) => this.http.stop(sessionId).catch(() => undefined)));
    await this.isFree();
  }
}

/** A session of the diary. */
export class DiarySession {
  readonly id: string;
  readonly player: DiaryPlayer;

  constructor(id: string, player: DiaryPlayer) {
    this.id = id;
    this.player = player;
  }

  async object(): Promise<Stored<GameSession>> {
    return (await platform()).gameSessions.get({ namespace: sessionsNamespace, name: this.id });
  }

  async podUid(): Promise<string> {
    return (await (await platform()).pods.get({ namespace: sessionsNamespace, name: this.id })).metadata.uid;
  }

  /** Waits until the object matches. */
  async becomes(
    isRight: (session: Stored<GameSession>) => boolean,
    what: string,
    timeoutMs = promisedMs,
  ): Promise<Stored<GameSession>> {
    return eventually(
      async () => {
        const session = await this.object();
        if (!isRight(session)) throw new Error(JSON.stringify(session.status));
        return session;
      },
      { timeoutMs, intervalMs: 300, what: `${this.id} ${what}` },
    );
  }

  /** Waits until the session is placed, and returns the node. */
  async placedOn(): Promise<string> {
    const { status } = await this.becomes(({ status: is }) => is?.nodeName !== undefined, "to be placed");
    return status?.nodeName ?? "";
  }

  async runs(timeoutMs = launchMs): Promise<void> {
    await eventually(
      async () => {
        const { status } = await this.player.http.status(this.id);
        if (status !== "running") throw new Error(status);
        return true;
      },
      { timeoutMs, intervalMs: 1000, what: `${this.id} to run` },
    );
  }

  /** Waits for a save with a higher sequence than `since`, and returns its sequence. */
  async writes(since = 0): Promise<number> {
    const { status } = await this.becomes(
      (session) => (session.status?.save?.sequence ?? 0) > since,
      `to have stored a save after ${since}`,
    );
    return status?.save?.sequence ?? 0;
  }

  /**
   * Waits for the next autosave, then adds a line to the diary that no stored save has yet. Returns the line.
   */
  async marks(): Promise<string> {
    const sequenceNow = async (): Promise<number> => (await this.object()).status?.save?.sequence ?? 0;
    const sequence = await this.writes(await sequenceNow());
    const mark = `mark-${randomBytes(6).toString("hex")}`;
    await (
      await platform()
    ).kubectl([
      "-n",
      sessionsNamespace,
      "exec",
      this.id,
      "-c",
      "game",
      "--",
      "sh",
      "-c",
      'echo "$1" >>"$HOME/diary"',
      "sh",
      mark,
    ]);
    // Autosaves are ten seconds apart.
    if ((await sequenceNow()) !== sequence)
      throw new Error(`${this.id} has stored another save before its diary had ${mark}, or with it.`);
    return mark;
  }

  /** Requests a stop without waiting for the end. */
  async stop(): Promise<void> {
    void this.player.http.stop(this.id).catch(() => undefined);
    await this.becomes(({ spec }) => spec.desiredState === "Stopped", "to be asked to stop");
  }

  /** Requests a stop, and waits until the pod is being deleted. The game then takes some seconds to end. */
  async beginsToStop(): Promise<void> {
    await this.stop();
    const { pods } = await platform();
    const ref = { namespace: sessionsNamespace, name: this.id };
    await eventually(async () => (await pods.get(ref)).metadata.deletionTimestamp !== undefined, {
      intervalMs: 100,
      what: `the pod of ${this.id} to be told to end`,
    });
  }

  /** Waits for the end, and returns the finished object. */
  finishes(timeoutMs = promisedMs): Promise<Stored<GameSession>> {
    return this.becomes(isFinished, "to be finished", timeoutMs);
  }
}

/** Returns the unique ids and marks in a stored save's diary, in order. */
export async function readDiary(objectKey: string): Promise<string[]> {
  const text = await readStoredSave(objectKey, "diary");
  return [...new Set((text ?? "").split("\n").filter((line) => line !== ""))];
}
