import { expect } from "chai";
import { streamerMessages } from "#contracts/termination.ts";
import { launchSteps } from "#kubectl/session/launchMoments.ts";
import { waterfall } from "#kubectl/session/sessionStory.ts";
import { after, aCondition, aGameSession, aRunningStatus } from "#test/factories/gameSession.ts";

/** Seconds after the creation of the factory's session, with a fraction, as our programs write times. */
const exactly = (seconds: number): string => after(seconds).toISOString();
/** The same in whole seconds, as Kubernetes does. */
const within = (seconds: number): string => `${after(seconds).toISOString().slice(0, 19)}Z`;

const session = aGameSession({
  status: aRunningStatus({
    startedAt: exactly(0.2),
    readyAt: exactly(4.5),
    placement: { attempt: 1, assignedAt: exactly(0.45), triedNodes: [] },
    conditions: [
      aCondition("ContentReady", { lastTransitionTime: within(2) }),
      aCondition("SaveRestored", { status: "False" }),
    ],
  }),
});
const log = [
  "(gst:1): some warning of a library",
  JSON.stringify({ time: exactly(3.1), msg: streamerMessages.viewerAnswered, viewer: "a" }),
  JSON.stringify({ time: exactly(5.75), msg: streamerMessages.viewerConnectionChanged, state: "connected" }),
  JSON.stringify({ time: exactly(60), msg: streamerMessages.viewerAnswered, viewer: "b" }),
];
const steps = launchSteps({ session, pod: undefined, events: [], streamerLog: log });
const lineOf = (name: string): string =>
  waterfall(steps)
    .split("\n")
    .find((line) => line.startsWith(name)) ?? "";

describe("waterfall", () => {
  it("tells each time as exactly as it is known", () => {
    expect(lineOf("a node is chosen")).to.match(/chosen +~0 s +0\.25 s /);
    expect(lineOf("the game's files are there")).to.match(/there +~2 s +~2 s /);
    expect(lineOf("the viewer is connected")).to.match(/connected +~6 s +2\.65 s /);
  });

  it("says what is not recorded, and takes the first viewer's connection", () => {
    expect(lineOf("the save is there")).to.match(/there +not recorded/);
    expect(lineOf("the game's container starts")).to.match(/starts +not recorded/);
    expect(lineOf("a viewer's offer is answered")).to.match(/answered +~3 s/);
  });

  it("draws bars where the steps lie", () => {
    const barOf = (name: string): string => /\|(.*)\|/.exec(lineOf(name))?.[1] ?? "";
    expect(barOf("the viewer is connected"))
      .to.match(/^ +=+$/)
      .and.have.length(40);
    expect(barOf("a node is chosen").trimEnd().length).to.be.lessThan(
      barOf("the session is ready").trimEnd().length,
    );
  });

  it("says so where nothing is known yet", () => {
    expect(waterfall([])).to.equal("Nothing is recorded of the launch yet.");
  });
});
