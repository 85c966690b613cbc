import { expect } from "chai";
import fc from "fast-check";
import {
  activeSession,
  addVersion,
  learn,
  ownerOf,
  release,
  slotsOf,
  sweepModel,
  type ModelSession,
  type ModelSlot,
  type SavesModel,
} from "./savesModel.ts";
import type { SavesCheck } from "./savesCheck.ts";
import type { SavesWorld } from "./savesWorld.ts";

/** The platform of a history, and its comparison with the model. */
export interface CheckedWorld {
  world: SavesWorld;
  check: SavesCheck;
}

type Command = fc.AsyncCommand<SavesModel, CheckedWorld>;

export const players = 2;
const player = fc.nat(players - 1);
/** Index of the session or slot that a command applies to. */
const which = fc.nat(5);

/**
 * Creates a command: applies it to the model and the platform, lets the leader release slots, and compares
 * both.
 */
function command(
  name: string,
  run: (model: SavesModel, world: SavesWorld) => Promise<void>,
  check: (model: SavesModel) => boolean = () => true,
): Command {
  return {
    check,
    run: async (model, { world, check: compare }) => {
      await run(model, world);
      await world.release(model.isStoreUp);
      if (model.isStoreUp) sessionsIn(model, "lost").forEach((session) => release(session, true));
      await compare.run(model);
    },
    toString: () => name,
  };
}

const sessionActive = { status: 409, error: "session_active" };
const slotOwned = { status: 409, error: "conflict" };
const noServers = { status: 503, error: "no_servers" };

/** One slot is used more often, so that it gets a history. */
const launch = fc.tuple(player, fc.constantFrom(1, 1, 1, 2, 3)).map(([by, number]) =>
  command(`player ${by} launches on slot ${number}`, async (model, world) => {
    const wished = slotsOf(model, by)[number - 1];
    const response = await world.launch(by, wished?.id);
    const active = activeSession(model, by);
    const isOwned = wished !== undefined && ownerOf(model, wished) !== undefined;
    const expected =
      active !== undefined
        ? sessionActive
        : isOwned
          ? slotOwned
          : model.isClusterWritable
            ? undefined
            : noServers;
    expectStatus(response, expected?.status ?? 202);
    if (expected !== undefined) {
      expect(response.json<{ error: string }>().error).to.equal(expected.error);
      return;
    }
    const { sessionId: id } = response.json<{ sessionId: string }>();
    const {
      spec: { saveSlot },
    } = await world.fixture.operator.session(id);
    const slot = wished ?? {
      id: saveSlot.slotId,
      player: by,
      number: saveSlot.number,
      current: undefined,
      versions: [],
      isDeleted: false,
      isForgotten: false,
    };
    if (wished === undefined) model.slots.push(slot);
    expect(saveSlot.slotId, "slot that is played").to.equal(slot.id);
    expect(saveSlot.objectKey, "save that is played").to.equal(slot.current);
    model.sessions.push({
      id,
      player: by,
      slot,
      state: "running",
      isPlayerFree: false,
      ownsSlot: true,
      sequence: 0,
      attempt: 1,
      stored: undefined,
      known: undefined,
    });
    await world.makeReady(id);
  }),
);

const launchOthers = fc.tuple(player, which).map(([by, index]) =>
  command(
    `player ${by} tries slot ${index} of another`,
    async (model, world) => {
      expectStatus(await world.launch(by, pick(othersSlots(model, by), index).id), 404);
    },
    (model) => othersSlots(model, by).length > 0,
  ),
);

/**
 * Autosaves of a running session, the last save of an ended one, and saves that the agent of a lost node
 * still stores.
 */
const save = which.map((index) =>
  command(
    `session ${index} saves`,
    async (model, world) => {
      const session = pick(withAgent(model), index);
      session.sequence++;
      if (!model.isStoreUp) return;
      session.stored = await world.pack(session);
      if (model.isClusterWritable) await report(world, session);
    },
    (model) => withAgent(model).length > 0,
  ),
);

const stop = fc.tuple(which, fc.boolean()).map(([index, isProlonged]) =>
  command(
    `session ${index} is stopped${isProlonged ? ", and takes long" : ""}`,
    async (model, world) => {
      const session = pick(sessionsIn(model, "running"), index);
      session.sequence++;
      if (isProlonged || !model.isStoreUp || !model.isClusterWritable) {
        await world.requestStop(session);
        session.state = "stopping";
        if (!model.isClusterWritable) return;
        await world.record(session.id);
        await world.untilAskedToStop(session.id);
        if (isProlonged) return;
        await world.finishUnsaved(session.id);
        Object.assign(session, { state: "unsaved", isPlayerFree: true });
        return;
      }
      const stopped = world.player(session.player).post("/api/game/stop", { sessionId: session.id });
      await world.untilAskedToStop(session.id);
      session.state = "stopping";
      session.stored = await world.pack(session);
      await report(world, session);
      expectStatus(await stopped, 200);
    },
    (model) => sessionsIn(model, "running").length > 0,
  ),
);

const loseNode = which.map((index) =>
  command(
    `the node of session ${index} dies`,
    async (model, world) => {
      const session = pick(sessionsIn(model, "running", "stopping", "unsaved"), index);
      await (session.state === "unsaved" ? world.loseNodeAfterEnd(session.id) : world.loseNode(session.id));
      Object.assign(session, { state: "lost", isPlayerFree: true });
    },
    (model) => model.isClusterWritable && sessionsIn(model, "running", "stopping", "unsaved").length > 0,
  ),
);

const returnNode = which.map((index) =>
  command(
    `the node of session ${index} returns`,
    async (model, world) => {
      const session = pick(sessionsIn(model, "lost"), index);
      session.sequence++;
      session.stored = await world.pack(session);
      await world.report(session, true);
      learn(session, session.stored);
      session.state = "over";
    },
    (model) => model.isClusterWritable && model.isStoreUp && sessionsIn(model, "lost").length > 0,
  ),
);

/**
 * The new agent packs the save again with the sequence that the old one had reached, and reports what is
 * stored.
 */
const restartAgent = which.map((index) =>
  command(
    `the agent of session ${index} restarts`,
    async (model, world) => {
      const session = pick(withAgent(model), index);
      session.attempt++;
      if (
        model.isClusterWritable &&
        session.stored !== undefined &&
        session.state !== "stopping" &&
        session.state !== "unsaved"
      )
        await report(world, session);
    },
    (model) => withAgent(model).length > 0,
  ),
);

const toggleStore = fc.constant(
  command("the object store goes away, or comes back", async (model, world) => {
    model.isStoreUp = !model.isStoreUp;
    world.fixture.setStoreUp(model.isStoreUp);
    return Promise.resolve();
  }),
);

const toggleCluster = fc.constant(
  command("the API server refuses writes, or takes them again", async (model, world) => {
    model.isClusterWritable = !model.isClusterWritable;
    world.fixture.setClusterWritable(model.isClusterWritable);
    if (!model.isClusterWritable) return;
    for (const session of model.sessions.filter(({ state }) => state !== "over")) {
      await world.record(session.id);
      if (session.stored !== undefined && session.stored !== session.known) await report(world, session);
    }
  }),
);

const sweep = fc.constantFrom(2, 25, 8 * 24).map((hours) =>
  command(`the sweeper runs ${hours} hours later`, async (model, world) => {
    await world.sweep(hours, model.isStoreUp);
    if (model.isStoreUp) sweepModel(model, hours, await world.recordedKeys(slots(model).map(({ id }) => id)));
  }),
);

const restore = fc.tuple(which, which).map(([index, nth]) =>
  command(
    `version ${nth} of slot ${index} is restored`,
    async (model, world) => {
      const slot = pick(slots(model), index);
      const restored = await world.restore(slot, nth);
      if (restored === undefined) return;
      const { response, version, isOwn } = restored;
      // Other versions are read first.
      expectStatus(
        response,
        !model.isStoreUp && !isOwn ? 503 : ownerOf(model, slot) !== undefined ? 409 : 200,
      );
      if (response.status !== 200 || version.objectKey === slot.current) return;
      addVersion(slot, { key: version.objectKey, kind: "restored", session: undefined, mayBeMissing: false });
      slot.current = version.objectKey;
    },
    (model) => slots(model).length > 0,
  ),
);

const remove = which.map((index) =>
  command(
    `slot ${index} is deleted`,
    async (model, world) => {
      const slot = pick(slots(model), index);
      slot.isDeleted = ownerOf(model, slot) === undefined;
      expectStatus(await world.deleteSlot(slot), slot.isDeleted ? 204 : 409);
    },
    (model) => slots(model).length > 0,
  ),
);

const passMinute = fc.constant(
  command("a minute passes", async (model, world) => {
    await world.passMinute();
    model.sessions.forEach((session) => {
      session.isPlayerFree ||= session.state === "stopping";
    });
  }),
);

const passDay = fc.constant(
  command("a day passes", async (model, world) => {
    await world.passDay(model.isStoreUp);
    model.sessions.forEach((session) => {
      session.isPlayerFree ||= session.state === "stopping";
    });
    for (const session of sessionsIn(model, "unsaved", "lost", "stopping")) release(session, model.isStoreUp);
  }),
);

/** All commands. Repeated entries occur more often. */
export const savesCommands: fc.Arbitrary<Command>[] = [
  launch,
  launch,
  launch,
  launch,
  save,
  save,
  save,
  save,
  stop,
  stop,
  stop,
  loseNode,
  loseNode,
  returnNode,
  restartAgent,
  toggleStore,
  toggleCluster,
  sweep,
  sweep,
  sweep,
  restore,
  remove,
  passMinute,
  passDay,
  launchOthers,
];

/** The agent reports its newest pack. After the last pack of a session, the operator ends the session. */
async function report(world: SavesWorld, session: ModelSession): Promise<void> {
  const isLast = session.state === "stopping" || session.state === "unsaved";
  await world.report(session, isLast);
  if (session.stored !== undefined) learn(session, session.stored);
  if (!isLast) return;
  release(session, false);
  Object.assign(session, { state: "over", isPlayerFree: true });
}

function sessionsIn({ sessions }: SavesModel, ...states: ModelSession["state"][]): ModelSession[] {
  return sessions.filter(({ state }) => states.includes(state));
}

/** Returns the sessions whose node agent may still store packs. */
function withAgent(model: SavesModel): ModelSession[] {
  return sessionsIn(model, "running", "stopping", "unsaved", "lost");
}

function slots(model: SavesModel): ModelSlot[] {
  return model.slots.filter(({ isDeleted }) => !isDeleted);
}

function othersSlots(model: SavesModel, by: number): ModelSlot[] {
  return slots(model).filter((slot) => slot.player !== by);
}

function pick<T>(items: readonly T[], index: number): T {
  const item = items[index % items.length];
  if (item === undefined) throw new Error("There is nothing to choose from.");
  return item;
}

function expectStatus(response: { status: number; text: string }, status: number): void {
  expect(response.status, response.text).to.equal(status);
}
