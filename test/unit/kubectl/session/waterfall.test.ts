import { expect } from "chai";
import { streamerMessages } from "#contracts/termination.ts";
import { launchSteps } from "#kubectl/session/launchMoments.ts";
import { waterfall } from "#kubectl/session/sessionStory.ts";
import { after, aCondition, aGameSession, aRunningStatus } from "#test/factories/gameSession.ts";

/**
 * Returns the moment this many seconds after the session's creation, with a fraction, as the programs write
 * it.
 */
const exactly = (seconds: number): string => after(seconds).toISOString();
/** Returns the same moment in whole seconds, as Kubernetes writes it. */
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
  it("shows each time with its precision", () => {
    expect(lineOf("node chosen")).to.match(/chosen +~0 s +0\.25 s /);
    expect(lineOf("game files ready")).to.match(/ready +~2 s +~2 s /);
    expect(lineOf("viewer connected")).to.match(/connected +~6 s +2\.65 s /);
  });

  it("shows missing steps as not recorded and uses the first viewer's connection", () => {
    expect(lineOf("save ready")).to.match(/ready +not recorded/);
    expect(lineOf("game container started")).to.match(/started +not recorded/);
    expect(lineOf("viewer's offer answered")).to.match(/answered +~3 s/);
  });

  it("draws a bar for each step", () => {
    const barOf = (name: string): string => /\|(.*)\|/.exec(lineOf(name))?.[1] ?? "";
    expect(barOf("viewer connected"))
      .to.match(/^ +=+$/)
      .and.have.length(40);
    expect(barOf("node chosen").trimEnd().length).to.be.lessThan(barOf("session ready").trimEnd().length);
  });

  it("explains that no steps are recorded yet", () => {
    expect(waterfall([])).to.equal("No launch steps are recorded yet.");
  });
});
