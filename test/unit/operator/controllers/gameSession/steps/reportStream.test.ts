import { expect } from "chai";
import type { PlayableStream } from "#operator/controllers/gameSession/streams.ts";
import { reportStream } from "#operator/controllers/gameSession/steps/start.ts";
import { StatusDraft } from "#operator/controllers/gameSession/statusDraft.ts";
import type { SessionWorld } from "#operator/controllers/gameSession/world.ts";
import { aGameSession, after } from "#test/factories/gameSession.ts";

const picture = { renderer: "AMD Radeon 780M", width: 1920, height: 1080, maxFps: 60 };
const stream = {
  renderer: "AMD Radeon 780M",
  encoder: "vah264enc",
  codec: "H264",
  width: 1920,
  height: 1080,
  fps: 60,
};

function report(profile: "Gpu" | "Software", playable: PlayableStream | undefined) {
  const session = aGameSession({ spec: { profile } });
  const draft = StatusDraft.from(session, after(1));
  const counted: string[] = [];
  const world: SessionWorld = {
    now: after(1),
    nowMs: 1000,
    seenAtMs: {},
    session,
    pod: undefined,
    isContentCached: true,
    playable,
    isInputIdle: false,
    idleEndsAtMs: undefined,
    nodeHealth: "Healthy",
    isAgentSilent: false,
    internet: "NotAllowed",
    timing: { unschedulableMs: 1, saveGiveUpMs: 1 },
  };
  const metrics = {
    sessionReady() {},
    sessionFinished() {},
    gameEnded() {},
    folderFull() {},
    nodeLossBraked() {},
    networkPoliciesEnforced() {},
    launchStepDone() {},
    launchFailed() {},
    relaysTold() {},
    sessionUnaccelerated: (reason: string) => counted.push(reason),
  };
  reportStream(world, draft);
  expect(counted, "counted before the status is written").to.be.empty;
  for (const count of draft.counts) count(metrics);
  const accelerated = draft.status.conditions?.find(({ type }) => type === "Accelerated");
  return { stream: draft.status.stream, accelerated, events: draft.events, counted };
}

describe("reportStream", () => {
  it("records the report, and that the GPU renders", () => {
    const { accelerated, ...rest } = report("Gpu", { picture, encoder: "vah264enc", codec: "h264" });
    expect(rest).to.deep.equal({ stream, events: [], counted: [] });
    expect(accelerated).to.include({ status: "True", reason: "RendersOnGpu" });
  });

  it("warns and counts when a session that requested a GPU renders in software", () => {
    const { accelerated, events, counted } = report("Gpu", {
      picture: { ...picture, obstacle: "SoftwareRenderer" },
      encoder: "x264enc",
      codec: "h264",
    });
    expect(accelerated).to.include({ status: "False", reason: "SoftwareRenderer" });
    expect(events.map(({ type, reason }) => [type, reason])).to.deep.equal([["Warning", "SoftwareRenderer"]]);
    expect(counted).to.deep.equal(["SoftwareRenderer"]);
  });

  it("sets no condition for a session without a GPU", () => {
    expect(report("Software", { picture, encoder: "vah264enc", codec: "h264" })).to.deep.equal({
      stream,
      accelerated: undefined,
      events: [],
      counted: [],
    });
  });

  it("does nothing before the streamer has reported", () => {
    for (const playable of [undefined, { picture: undefined, encoder: "x264enc", codec: "h264" } as const]) {
      expect(report("Gpu", playable)).to.deep.equal({
        stream: undefined,
        accelerated: undefined,
        events: [],
        counted: [],
      });
    }
  });
});
