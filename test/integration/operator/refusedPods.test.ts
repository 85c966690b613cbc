import { randomBytes } from "node:crypto";
import { expect } from "chai";
import { publicStatusOf } from "#contracts/crd/publicStatus.ts";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import { isFinished } from "#contracts/crd/sessionConditions.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { FaultyApi, type SeenRequest } from "#test/support/cluster/faultyApi.ts";
import { sharedKubeApiServer, type KubeApiServer } from "#test/support/cluster/kubeApiServer.ts";
import { OperatorFixture } from "#test/support/fixtures/operatorFixture.ts";

const isCreation = ({ method, path }: SeenRequest): boolean => method === "POST" && path.endsWith("/pods");
const podReadyOf = ({ status }: GameSession) => status?.conditions?.find(({ type }) => type === "PodReady");

describe("A session's pod that the API server refuses, as its RuntimeClass is not there", function () {
  this.timeout(60_000);
  let server: KubeApiServer;
  let fixture: OperatorFixture;
  let api: FaultyApi;
  let runtimeClass: string;

  beforeEach(async () => {
    server = await sharedKubeApiServer();
    runtimeClass = `missing-${randomBytes(4).toString("hex")}`;
    fixture = await OperatorFixture.start({ environment: { SESSION_RUNTIME_CLASS: runtimeClass } });
    api = await FaultyApi.start(server);
    await fixture.startOperator({ kubeconfig: api.kubeconfig() });
  });

  afterEach(async () => {
    await fixture.clear();
    await api.stop();
  });

  const refused = (name: string) => fixture.session(name, (session) => podReadyOf(session)?.reason === "FailedCreate", "session whose pod is refused");

  it("has the server's words in condition PodReady and an event, written once however often it is tried", async () => {
    const { metadata: { name } } = await fixture.launch();
    const told = await refused(name);
    expect(podReadyOf(told)).to.include({ status: "False" });
    expect(podReadyOf(told)?.message).to.contain("refuses the session's pod").and.contain(`RuntimeClass "${runtimeClass}" not found`);
    const tries = api.requests.filter(isCreation).length;
    await eventually(() => api.requests.filter(isCreation).length >= tries + 3, { what: "three more tries" });
    expect((await fixture.sessions.get(told.metadata)).metadata.resourceVersion, "version of the session").to.equal(told.metadata.resourceVersion);
    await eventually(async () => (await fixture.eventsOf(name)).includes("FailedCreate"), { what: "the event" });
  });

  it("is made as soon as the server takes it, and the condition says no more that it was refused", async () => {
    fixture.components.behaviour.nodesWithoutKubelet.add(fixture.nodeNames[0] ?? "");
    const { metadata: { name, namespace } } = await fixture.launch();
    await refused(name);
    const path = "/apis/node.k8s.io/v1/runtimeclasses";
    await server.admin.request({ method: "POST", path, body: { apiVersion: "node.k8s.io/v1", kind: "RuntimeClass", metadata: { name: runtimeClass }, handler: "runc" } });
    try {
      await fixture.session(name, (session) => podReadyOf(session)?.status === "Unknown", "session whose pod is made");
      fixture.components.behaviour.nodesWithoutKubelet.clear();
      await fixture.pods.mergePatch({ name, namespace }, { metadata: { annotations: { seen: "true" } } });
      await fixture.session(name, (session) => publicStatusOf(session) === "running", "running session");
    } finally {
      await server.admin.request({ method: "DELETE", path: `${path}/${runtimeClass}` });
    }
  });

  it("ends the session at its start deadline with the server's words", async () => {
    const { metadata: { name } } = await fixture.launch({ startDeadlineSeconds: 120 });
    await refused(name);
    await fixture.pass(121_000);
    const { status } = await fixture.session(name, isFinished, "finished session");
    expect(status?.failure?.reason).to.equal("StartTimedOut");
    expect(status?.failure?.message).to.contain(`RuntimeClass "${runtimeClass}" not found`);
  });
});
