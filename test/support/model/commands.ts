import { expect } from "chai";
import fc from "fast-check";
import { saveKey } from "#contracts/objectKeys.ts";
import { anArchive } from "../fixtures/archives.ts";
import { eventually } from "../clocks/eventually.ts";
import {
  activeSession,
  endSession,
  pairOf,
  slotsOf,
  type ModelGame,
  type ModelSession,
  type PlatformModel,
} from "./platformModel.ts";
import type { RealPlatform } from "./realPlatform.ts";

type Command = fc.AsyncCommand<PlatformModel, RealPlatform>;

export const users = 3;
export const games = 3;
const idleTimeoutSeconds = 1800;
const user = fc.nat(users - 1);
const game = fc.nat(games - 1);
/** Index of the session that a command applies to. */
const which = fc.nat(users - 1);

/** Creates a command: applies it to the model, and expects the platform to respond accordingly. */
function command(
  name: string,
  run: (model: PlatformModel, real: RealPlatform) => Promise<void>,
  check: (model: PlatformModel) => boolean = () => true,
): Command {
  return {
    check,
    run: async (model, real) => {
      await run(model, real);
      await real.check(model);
    },
    toString: () => name,
  };
}

const launch = fc
  .tuple(user, game, fc.constantFrom("latest", "fresh", "slot 1", "slot 2", "slot 3"))
  .map(([player, of, choice]) =>
    command(`launch(${player}, ${of}, ${choice})`, async (model, real) => {
      const known = gameOf(model, of);
      const slots = slotsOf(model, player, of);
      const wished = choice.startsWith("slot") ? Number(choice.slice(5)) : undefined;
      const stored = (await real.detailOf(player, known.slug))?.saveSlots.find(
        ({ slotNumber }) => slotNumber === wished,
      )?.id;
      const response = await real.player(player).post("/api/game/launch", {
        gameSlug: known.slug,
        ...(wished !== undefined && { saveSlotId: stored ?? "none" }),
        ...(choice === "fresh" && { fresh: true }),
      });
      const active = activeSession(model, player);
      const free = [1, 2, 3].find((number) => slots.every((slot) => slot.number !== number));
      if (
        known.status !== "active" ||
        (wished !== undefined && slots.every(({ number }) => number !== wished))
      ) {
        expectStatus(response, 404);
        return;
      }
      if (active !== undefined) {
        expectStatus(response, 409);
        expect(response.json()).to.include({ error: "session_active", sessionId: active.id });
        return;
      }
      const isFresh = choice === "fresh" || (wished === undefined && slots.length === 0);
      if (isFresh && free === undefined) {
        expectStatus(response, 409);
        expect(response.json()).to.include({ error: "no_empty_slot" });
        return;
      }
      expectStatus(response, 202);
      const latest = slots.toSorted((a, b) => b.lastSession - a.lastSession)[0]?.number;
      const slot = isFresh ? free : (wished ?? latest);
      if (slot === undefined) throw new Error("There is no slot to play.");
      if (isFresh) slots.push({ number: slot, generation: 0, lastSession: model.sessions.length });
      const { sessionId } = response.json<{ sessionId: string }>();
      expect((await real.operator.session(sessionId)).spec)
        .to.deep.include({ contentDigest: known.checksum })
        .and.to.have.nested.property("saveSlot.number", slot);
      model.sessions.push({
        id: sessionId,
        user: player,
        game: of,
        slot,
        status: "starting",
        wasReady: false,
        hasSaved: false,
        isSlotNew: isFresh,
      });
    }),
  );

const becomeReady = which.map((index) =>
  command(
    `becomeReady(${index})`,
    async (model, real) => {
      const session = pick(sessionsIn(model, "starting"), index);
      await real.operator.makeReady(session.id);
      await eventually(async () => (await real.statusOf(session.user, session.id)).status === "running");
      await eventually(
        async () =>
          (await real.api.deps.postgres.prisma.gameSession.findUniqueOrThrow({ where: { id: session.id } }))
            .status === "running",
      );
      Object.assign(session, { status: "running", wasReady: true });
      slotOf(model, session).lastSession = model.sessions.indexOf(session);
    },
    (model) => sessionsIn(model, "starting").length > 0,
  ),
);

const save = which.map((index) =>
  command(
    `save(${index})`,
    async (model, real) => {
      const session = pick(unsaved(model), index);
      const { saveSlot } = (await real.operator.session(session.id)).spec;
      const generation = saveSlot.generation + 1;
      const objectKey = saveKey(saveSlot.slotId, {
        generation,
        gameSession: session.id,
        sequence: 1,
        attempt: 1,
      });
      const stored = {
        objectKey,
        sha256: "a".repeat(64),
        bytes: 10,
        generation,
        sequence: 1,
        persistedAt: new Date().toISOString(),
        final: false,
      };
      await real.operator.report(session.id, { save: stored });
      await eventually(
        async () =>
          (await real.api.deps.postgres.prisma.saveSlot.findUniqueOrThrow({ where: { id: saveSlot.slotId } }))
            .savedBySession === session.id,
      );
      slotOf(model, session).generation = generation;
      session.hasSaved = true;
    },
    (model) => unsaved(model).length > 0,
  ),
);

const stop = fc.tuple(which, fc.boolean()).map(([index, isTwice]) =>
  command(
    `stop(${index}${isTwice ? ", twice at once" : ""})`,
    async (model, real) => {
      const session = pick(sessionsIn(model, "starting", "running"), index);
      const finished = real.finishWhenAsked(session.id);
      const responses = await Promise.all(
        Array.from({ length: isTwice ? 2 : 1 }, () =>
          real.player(session.user).post("/api/game/stop", { sessionId: session.id }),
        ),
      );
      await finished;
      const again = await real.player(session.user).post("/api/game/stop", { sessionId: session.id });
      for (const response of [...responses, again]) {
        expectStatus(response, 200);
        expect(response.json()).to.deep.equal(again.json());
      }
      endSession(model, session);
    },
    (model) => sessionsIn(model, "starting", "running").length > 0,
  ),
);

const keepalive = user.map((player) =>
  command(`keepalive(${player})`, async (model, real) => {
    const session = activeSession(model, player) ?? model.sessions.findLast((each) => each.user === player);
    const response = await real
      .player(player)
      .post("/api/game/keepalive", { sessionId: session?.id ?? "none" });
    expectStatus(response, session?.status === "starting" || session?.status === "running" ? 200 : 404);
  }),
);

const passTime = fc.tuple(which, fc.constantFrom(60, idleTimeoutSeconds + 60)).map(([index, seconds]) =>
  command(
    `passTime(${index}, ${seconds} s)`,
    async (model, real) => {
      const session = pick(sessionsIn(model, "running"), index);
      const hasBegunToEnd = await real.passIdleTime(session.id, seconds);
      if (seconds > idleTimeoutSeconds) expect(hasBegunToEnd).to.equal(true);
      if (!hasBegunToEnd) return;
      await real.finishWhenAsked(session.id);
      await eventually(async () => (await real.statusOf(session.user, session.id)).status === "stopped");
      endSession(model, session);
    },
    (model) => sessionsIn(model, "running").length > 0,
  ),
);

const toggle = fc.tuple(user, game).map(([player, of]) =>
  command(`toggleFavorite(${player}, ${of})`, async (model, real) => {
    const { id, status } = gameOf(model, of);
    const response = await real.player(player).post("/api/favorites", { gameId: id });
    if (status !== "active") {
      expectStatus(response, 404);
      return;
    }
    const pair = pairOf(player, of);
    const isRemoved = model.favorites.delete(pair);
    if (!isRemoved) model.favorites.add(pair);
    expect(response.json()).to.deep.equal({ status: isRemoved ? "removed" : "added", gameId: id });
  }),
);

const upload = fc.tuple(game, fc.boolean()).map(([of, isGood]) =>
  command(`upload(${of}, ${isGood ? "good" : "broken"})`, async (model, real) => {
    const known = gameOf(model, of);
    const archive = await anArchive();
    const body = isGood ? archive : archive.subarray(0, archive.length - 20);
    const response = await real.partner.put(`/api/partners/games/${known.slug}/upload`, body, {
      "content-type": "application/gzip",
    });
    if (known.status === "deleted") {
      expectStatus(response, 404);
      return;
    }
    expectStatus(response, isGood ? 200 : 422);
    if (isGood)
      Object.assign(known, {
        status: "active",
        checksum: response.json<{ checksum: string }>().checksum.replace("sha256:", ""),
      });
  }),
);

const remove = game.map((of) =>
  command(
    `deleteGame(${of})`,
    async (model, real) => {
      const known = gameOf(model, of);
      expectStatus(
        await real.partner.delete(`/api/partners/games/${known.slug}`),
        known.status === "deleted" ? 404 : 204,
      );
      known.status = "deleted";
    },
    (model) => model.games.filter(({ status }) => status === "active").length > 1,
  ),
);

/** All commands. Those that keep the platform running occur more often than those that end sessions. */
export const platformCommands = fc.oneof(
  { weight: 5, arbitrary: launch },
  { weight: 4, arbitrary: becomeReady },
  { weight: 3, arbitrary: save },
  { weight: 3, arbitrary: stop },
  { weight: 1, arbitrary: keepalive },
  { weight: 2, arbitrary: passTime },
  { weight: 2, arbitrary: toggle },
  { weight: 2, arbitrary: upload },
  { weight: 1, arbitrary: remove },
);

function gameOf(model: PlatformModel, index: number): ModelGame {
  const found = model.games[index];
  if (found === undefined) throw new Error(`There is no game ${index}.`);
  return found;
}

function sessionsIn({ sessions }: PlatformModel, ...statuses: ModelSession["status"][]): ModelSession[] {
  return sessions.filter(({ status }) => statuses.includes(status));
}

function unsaved(model: PlatformModel): ModelSession[] {
  return sessionsIn(model, "running").filter(({ hasSaved }) => !hasSaved);
}

function pick(sessions: readonly ModelSession[], index: number): ModelSession {
  const session = sessions[index % sessions.length];
  if (session === undefined) throw new Error("There is no session to choose.");
  return session;
}

function slotOf(model: PlatformModel, session: ModelSession): ReturnType<typeof slotsOf>[number] {
  const found = slotsOf(model, session.user, session.game).find(({ number }) => number === session.slot);
  if (found === undefined) throw new Error(`There is no slot ${session.slot}.`);
  return found;
}

function expectStatus(response: { status: number; text: string }, status: number): void {
  expect(response.status, response.text).to.equal(status);
}
