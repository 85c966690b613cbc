import { expect } from "chai";
import { gameSessions } from "#contracts/crd/gameSession.ts";
import { decodeObject } from "#kube/client/decode.ts";

const sent = {
  apiVersion: "joypod.dev/v1alpha1",
  kind: "GameSession",
  metadata: {
    name: "gs-1",
    namespace: "sessions",
    uid: "1",
    resourceVersion: "7",
    creationTimestamp: "2026-11-28T12:00:00Z",
    labels: { "joypod.dev/game": "racer" },
    finalizers: ["joypod.dev/recorder"],
  },
  spec: { contentDigest: "a".repeat(64), launcher: "run.sh" },
  status: {
    nodeName: "node-1",
    conditions: [
      {
        type: "Ready",
        status: "True",
        reason: "Streaming",
        message: "",
        lastTransitionTime: "2026-11-28T12:00:01Z",
      },
    ],
  },
};

describe("decodeObject", () => {
  it("returns the object without managedFields", () => {
    const { metadata } = sent;
    const value = structuredClone({
      ...sent,
      metadata: { ...metadata, managedFields: [{ manager: "api" }] },
    });
    expect(decodeObject(gameSessions, value)).to.deep.equal(sent);
  });

  it("adds no missing fields", () => {
    const { status, spec, ...bare } = sent;
    expect(decodeObject(gameSessions, structuredClone(bare))).to.deep.equal(bare);
    expect(decodeObject(gameSessions, structuredClone({ ...bare, spec: {}, status: {} }))).to.deep.equal({
      ...bare,
      spec: {},
      status: {},
    });
  });
});
