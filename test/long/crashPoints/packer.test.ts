import { join } from "node:path";
import { existsSync } from "node:fs";
import { expect } from "chai";
import { packedArchiveName } from "#contracts/nodeLayout.ts";
import { aTarGz } from "#test/factories/tarArchive.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import {
  callsIn,
  ensureTracer,
  hasStruck,
  notingWords,
  tracerWords,
  type DiskCall,
  type DiskFault,
  type DiskPoint,
} from "#test/support/crashPoints/diskFault.ts";
import {
  createPackerFixture,
  type PackerFixture,
  type PackerRun,
} from "#test/support/fixtures/packerFixture.ts";

/** The kinds of calls that a life makes. */
const packerCalls = ["mkdir", "rename", "fsync", "utimensat", "unlink"] satisfies DiskCall[];
/** Lives at the same time; most of one is waiting. */
const parallel = 4;
/** More than a life has calls of any kind. */
const mostCalls = 60;

/** What a life leaves. */
interface PackerEnd {
  content: Record<string, string | undefined>;
  isFinal: boolean;
  isRefused: boolean;
  files: number;
}

/** Left of a life in which the save was not restored, and so no game was played: a report that says why. */
const notRestored = "not restored";

describe("The packer, with a disk failure or a kill at one call,", function () {
  this.timeout(600_000);
  let clean: PackerEnd;

  before(async () => {
    await ensureTracer();
    const { end, calls } = await live(undefined);
    expect(calls, "kinds of calls of a life").to.have.members(packerCalls);
    if (end === notRestored) throw new Error("The save was not restored.");
    clean = end;
    expect(clean.content).to.include({ kept: "before\n", progress: "last\n" });
  });

  for (const fault of ["killed", "EIO", "ENOSPC"] satisfies DiskFault[]) {
    for (const call of packerCalls) {
      const title =
        fault === "killed"
          ? `killed before any ${call}, packs the game's last state in the end`
          : `told ${fault} by any ${call}, packs the game's last state, or says why none began`;
      it(title, async () => {
        await sweep(call, fault, clean);
      });
    }
  }
});

/** One life per call of this kind, until there are no more. */
async function sweep(call: DiskCall, fault: DiskFault, clean: PackerEnd): Promise<void> {
  let next = 1;
  let struck = 0;
  let isOver = false;
  const lane = async (): Promise<void> => {
    while (!isOver && next <= mostCalls) {
      const point = { call, nth: next++, fault };
      const { end, wasStruck } = await live(point).catch((cause: unknown) => {
        isOver = true;
        throw new Error(
          `${fault} at number ${point.nth} of ${call}: ${cause instanceof Error ? cause.message : String(cause)}`,
          { cause },
        );
      });
      if (!wasStruck) isOver = true;
      else {
        struck++;
        expect(endsOf(fault, clean), `${fault} at number ${point.nth} of ${call}`).to.deep.include(end);
      }
    }
  };
  await Promise.all(Array.from({ length: parallel }, lane));
  expect(isOver, "a life without this call").to.equal(true);
  expect(struck, "lives that were struck").to.be.above(0);
}

/**
 * A disk that fails once may keep a save from being restored, which is said, but costs a game that was played
 * nothing.
 */
function endsOf(fault: DiskFault, clean: PackerEnd): (PackerEnd | typeof notRestored)[] {
  return fault === "killed" ? [clean] : [clean, notRestored];
}

/**
 * A session restores its save, plays, is packed twice, and ends; the packer is started again whenever it
 * dies, as the streamer does.
 */
async function live(
  point: DiskPoint | undefined,
): Promise<{ end: PackerEnd | typeof notRestored; wasStruck: boolean; calls: DiskCall[] }> {
  const fixture = createPackerFixture();
  const log = join(fixture.volume, "calls");
  let current = start(fixture, point === undefined ? notingWords(log) : tracerWords(point, log));
  try {
    fixture.order(
      aTarGz([
        { name: "kept", body: "before\n" },
        { name: "folder/", mode: 0o755 },
        { name: "folder/progress", body: "first\n" },
      ]),
    );
    const restarting = async <T>(attempt: () => T | Promise<T>, what: string): Promise<unknown> =>
      eventually(
        async () => {
          if (hasDied(current)) current = restart(fixture);
          return attempt();
        },
        { what: `${what}; ${current.log().join("\n")}`, timeoutMs: 30_000 },
      );
    await restarting(
      () => existsSync(fixture.saves) || fixture.report()?.refused !== undefined,
      "the save directory, or why there is none",
    );
    if (!existsSync(fixture.saves))
      return { end: notRestored, wasStruck: hasStruck(log), calls: callsIn(log) };
    fixture.game("echo first > progress");
    await restarting(
      () => fixture.manifest()?.save !== undefined && fixture.manifest()?.refused === undefined,
      "the first pack",
    );
    fixture.game("echo last > progress");
    await restarting(async () => {
      if (fixture.manifest()?.final === true) return true;
      return (await current.finish()) === 0 && fixture.manifest()?.final === true;
    }, "the last pack");
    return { end: endOf(fixture), wasStruck: hasStruck(log), calls: callsIn(log) };
  } finally {
    fixture.remove();
  }
}

/**
 * Between two lives the folder must hold what its manifest names, whole: the node agent may store it at any
 * time.
 */
function restart(fixture: PackerFixture): PackerRun {
  const save = fixture.manifest()?.save;
  if (save !== undefined) fixture.content(save);
  return start(fixture);
}

/** Who dies as it is told of the game's end does not hear of it; the next run does. */
function start(fixture: PackerFixture, wrapper?: readonly string[]): PackerRun {
  const run = fixture.start(wrapper);
  run.process.on("error", () => undefined);
  return run;
}

function hasDied({ process: { exitCode, signalCode } }: PackerRun): boolean {
  return exitCode !== null || signalCode !== null;
}

function endOf(fixture: PackerFixture): PackerEnd {
  const manifest = fixture.manifest();
  const save = manifest?.save;
  if (save === undefined) throw new Error("There is no pack.");
  expect(existsSync(fixture.spooled(`packed/${packedArchiveName(save)}`))).to.equal(true);
  return {
    content: fixture.content(save),
    isFinal: manifest?.final === true,
    isRefused: manifest?.refused !== undefined,
    files: save.files,
  };
}
