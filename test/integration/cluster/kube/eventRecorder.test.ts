import { expect } from "chai";
import { type ConfigMap, configMaps, type Event, events } from "#kube/api/builtin.ts";
import { EventRecorder, type EventNote } from "#kube/controllers/eventRecorder.ts";
import type { Stored } from "#kube/api/object.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { FaultyApi } from "#test/support/cluster/faultyApi.ts";
import { type KubeApiServer, sharedKubeApiServer } from "#test/support/cluster/kubeApiServer.ts";

const note: EventNote = {
  type: "Normal",
  reason: "Downloaded",
  action: "Download",
  note: "The game is there.",
};

describe("EventRecorder", () => {
  let server: KubeApiServer;
  let api: FaultyApi;
  let namespace: string;
  let object: Stored<ConfigMap>;
  let recorder: EventRecorder;

  before(async function () {
    this.timeout(60_000);
    server = await sharedKubeApiServer();
  });

  beforeEach(async () => {
    [api, namespace] = await Promise.all([FaultyApi.start(server), server.createNamespace()]);
    object = await new ResourceClient(server.admin, configMaps).create({
      metadata: { name: "regarded", namespace },
    });
    recorder = new EventRecorder({
      transport: api.transport({ random: () => 0 }),
      controller: "kube.test/recorder",
      bucket: { size: 3, refillMs: 60_000 },
    });
  });

  afterEach(async () => {
    await recorder.stop();
    await api.stop();
  });

  const written = async (): Promise<Stored<Event>[]> =>
    (await new ResourceClient(server.admin, events).list({ namespace })).items;

  it("writes an event that names its object", async () => {
    recorder.record(object, note);
    const [event] = await eventually(async () => {
      const found = await written();
      return found.length > 0 && found;
    });
    expect(event).to.deep.include({
      reason: "Downloaded",
      type: "Normal",
      note: "The game is there.",
      reportingController: "kube.test/recorder",
    });
    expect(event?.regarding).to.include({ kind: "ConfigMap", name: "regarded", uid: object.metadata.uid });
  });

  it("counts a repeated event and writes the count when it is stopped", async () => {
    recorder.record(object, note);
    await eventually(async () => (await written()).length === 1);
    recorder.record(object, note);
    recorder.record(object, note);
    await recorder.stop();
    expect((await written()).map(({ series }) => series?.count)).to.deep.equal([3]);
    expect(api.requests.map(({ method }) => method)).to.deep.equal(["POST", "PATCH"]);
  });

  it("limits the events of one object by a token bucket", async () => {
    for (let i = 0; i < 10; i++) recorder.record(object, { ...note, note: `Attempt ${i}.` });
    await recorder.stop();
    expect(await written()).to.have.length(3);
    expect(recorder.dropped).to.equal(7);
  });

  it("retries after a server error and drops a rejected event", async () => {
    const isPost = ({ method }: { method: string }): boolean => method === "POST";
    api.respondOnce(isPost, 503);
    recorder.record(object, note);
    await eventually(async () => (await written()).length === 1);
    recorder.record(object, { ...note, action: "" });
    await eventually(() => recorder.dropped === 1);
  });

  it("counts an in-flight event once when it is stopped", async () => {
    const held = api.holdResponseOnce(({ method }) => method === "POST");
    recorder.record(object, note);
    await held.carriedOut;
    const stopped = recorder.stop();
    held.release();
    await stopped;
    expect(api.requests.map(({ method }) => method)).to.deep.equal(["POST"]);
    expect((await written()).map(({ series }) => series)).to.deep.equal([undefined]);
  });

  it("stops even if the server does not respond", async () => {
    const held = api.holdOnce(() => true);
    recorder.record(object, note);
    await held.arrived;
    await recorder.stop(200);
    held.release();
  });
});
