import { expect } from "chai";
import {
  aCondition,
  aGameSession,
  after,
  aPlacedStatus,
  aRunningStatus,
  createdAt,
} from "#test/factories/gameSession.ts";
import { StatusDraft } from "#operator/controllers/gameSession/statusDraft.ts";

const allTypes = [
  "Scheduled",
  "ContentReady",
  "SaveRestored",
  "PodReady",
  "StreamReady",
  "Ready",
  "SavePersisted",
  "Finished",
];

/** Returns a status as after the first pass, with every condition. */
const settled = (status = aRunningStatus()) => {
  const known = status.conditions ?? [];
  return {
    observedGeneration: 1,
    ...status,
    conditions: allTypes.map(
      (type) => known.find((condition) => condition.type === type) ?? aCondition(type, { status: "Unknown" }),
    ),
  };
};

describe("StatusDraft", () => {
  it("sets every known condition in the first pass", () => {
    const status = StatusDraft.from(aGameSession(), after(1)).close();
    expect(status?.conditions?.map(({ type }) => type)).to.have.members(allTypes);
    expect(status).to.deep.include({
      phase: "Pending",
      observedGeneration: 1,
      startedAt: after(1).toISOString(),
    });
  });

  it("writes nothing if nothing has changed", () => {
    expect(StatusDraft.from(aGameSession({ status: settled() }), after(60)).close()).to.equal(undefined);
  });

  const generations: [string, boolean, NonNullable<Parameters<typeof aGameSession>[0]>][] = [
    ["starts", false, { status: settled(aPlacedStatus()) }],
    ["runs, for example after a keepalive", true, { status: settled() }],
    ["is asked to stop", false, { spec: { desiredState: "Stopped" }, status: settled() }],
    ["is being deleted", false, { metadata: { deletionTimestamp: createdAt }, status: settled() }],
    ["has finished", true, { status: settled(aRunningStatus({ conditions: [aCondition("Finished")] })) }],
  ];
  for (const [what, isWritten, { metadata, spec, status }] of generations) {
    it(`${isWritten ? "writes" : "does not write"} a changed generation of a session that ${what}`, () => {
      const session = aGameSession({
        metadata: { ...metadata, generation: 7 },
        ...(spec && { spec }),
        status: { ...status, observedGeneration: 6 },
      });
      const written = StatusDraft.from(session, after(60)).close();
      expect(written?.observedGeneration).to.equal(isWritten ? 7 : undefined);
      for (const { type, observedGeneration } of written?.conditions ?? [])
        expect(observedGeneration, type).to.equal(7);
    });
  }

  it("removes Ready at the end and does not restore it", () => {
    const draft = StatusDraft.from(aGameSession({ status: settled() }), after(60));
    draft.setFinished("UserRequested", "The session ended normally.");
    const written = draft.close();
    expect(written?.conditions?.map(({ type }) => type))
      .to.include("Finished")
      .and.not.include("Ready");
    expect(
      StatusDraft.from(aGameSession({ status: written ?? {} }), after(61)).close(),
      "no second write",
    ).to.equal(undefined);
  });

  it("does not write the node agent's part", () => {
    const status = settled({
      ...aRunningStatus(),
      save: {
        objectKey: "saves/s/1-a-1.tar.gz",
        sha256: "b".repeat(64),
        bytes: 1,
        generation: 1,
        sequence: 1,
        persistedAt: createdAt,
        final: false,
      },
    });
    const draft = StatusDraft.from(aGameSession({ status }), after(60));
    draft.set("Ready", "False", "Interrupted", "The streamer restarts.");
    const written = draft.close();
    expect(written).to.not.have.property("save");
    expect(written?.conditions?.map(({ type }) => type)).to.have.members([
      "Scheduled",
      "PodReady",
      "StreamReady",
      "Ready",
      "Finished",
    ]);
  });

  it("resets the agent's conditions for a new node until its agent has reported", () => {
    const draft = StatusDraft.from(aGameSession({ status: settled() }), after(60));
    draft.resetAgentConditions();
    const moved = draft.close();
    const again = StatusDraft.from(aGameSession({ status: moved ?? {} }), after(61));
    expect(again.close(), "no second write").to.equal(undefined);
    again.set("Scheduled", "True", "NodeAssigned", "again");
    expect(again.close()?.conditions?.find(({ type }) => type === "ContentReady")).to.include({
      status: "Unknown",
    });
  });

  it("returns whether a condition has changed", () => {
    const draft = StatusDraft.from(aGameSession(), after(1));
    expect(draft.set("Scheduled", "False", "NoCapacity", "full")).to.equal(true);
    expect(draft.set("Scheduled", "False", "NoCapacity", "full")).to.equal(false);
  });

  const phases: [string, Parameters<typeof aGameSession>[0], string][] = [
    ["placed", { status: settled(aPlacedStatus()) }, "Preparing"],
    [
      "with its files",
      { status: settled(aPlacedStatus({ conditions: [aCondition("ContentReady")] })) },
      "Starting",
    ],
    ["ready", { status: settled() }, "Running"],
    ["asked to stop", { spec: { desiredState: "Stopped" }, status: settled() }, "Stopping"],
    ["being deleted", { metadata: { deletionTimestamp: createdAt }, status: settled() }, "Stopping"],
    ["finished", { status: settled(aRunningStatus({ conditions: [aCondition("Finished")] })) }, "Finished"],
  ];
  for (const [what, session, phase] of phases) {
    it(`reports a session that is ${what} as ${phase}`, () => {
      const draft = StatusDraft.from(aGameSession(session), after(1));
      draft.status.address = "192.0.2.99";
      expect(draft.close()?.phase).to.equal(phase);
    });
  }

  it("recognizes its own write after later agent reports", () => {
    const session = aGameSession({ status: settled(aPlacedStatus()) });
    const draft = StatusDraft.from(session, after(60));
    draft.set("Ready", "False", "Interrupted", "The streamer restarts.");
    const written = draft.close()!;
    expect(draft.isWritten(written, session.status), "not carried out").to.equal(false);
    expect(draft.isWritten(written, undefined), "gone").to.equal(false);
    const agents = ["ContentReady", "SaveRestored", "SavePersisted"].map((type) => aCondition(type));
    const conditions = [
      ...written.conditions!.filter(({ type }) => !agents.some((other) => other.type === type)),
      ...agents,
    ];
    expect(draft.isWritten(written, { ...written, conditions }), "carried out").to.equal(true);
    expect(draft.isWritten(written, { ...written, nodeName: "another" }), "another's write").to.equal(false);
  });
});
