import { expect } from "chai";
import {
  WebhookDeliveriesResponse,
  WebhookDelivery,
  Webhook,
  WebhooksResponse,
  WebhookWithSecret,
} from "#contracts/http/webhooks.ts";
import { WebhookSender } from "#api/webhooks/sender.ts";
import { recordWebhookEvent } from "#api/webhooks/eventQueries.ts";
import { resealWebhookSecrets, sweepDeliveries } from "#api/webhooks/sweepWebhooks.ts";
import { WebhookSecrets } from "#api/webhooks/webhookSecrets.ts";
import { aGame, aPartner, aUser, type TestGame, type TestPartner } from "#test/factories/catalog.ts";
import { TestApi } from "#test/support/http/api.ts";
import { expectErrorResponse, type ApiClient, type ApiResponse } from "#test/support/http/apiClient.ts";
import { verified, WebhookReceiver } from "#test/support/http/webhookReceiver.ts";
import { runJoypod } from "#test/support/processes/joypod.ts";
import { everythingStored } from "#test/support/openapi/storedState.ts";
import { Nameserver } from "#test/support/network/nameserver.ts";

const path = "/api/partners/webhooks";

describe("webhooks of a partner", function () {
  this.timeout(60_000);
  let api: TestApi;
  let sender: WebhookSender;
  let receiver: WebhookReceiver;
  let nameserver: Nameserver;
  let partner: TestPartner;
  let client: ApiClient;
  let game: TestGame;

  before(async () => {
    nameserver = await Nameserver.start();
    api = await TestApi.start({ env: { WEBHOOK_NAMESERVERS: nameserver.address } });
    sender = new WebhookSender(api.deps);
  });
  beforeEach(async () => {
    receiver = await WebhookReceiver.start();
    partner = await aPartner(api.deps);
    client = api.asPartner(partner);
    game = await aGame(api.deps, { partnerId: partner.id });
  });
  afterEach(() => receiver.stop());
  after(async () => {
    await api.stop();
    await nameserver.stop();
  });

  async function created(body: object = {}): Promise<WebhookWithSecret> {
    const response = await client.post(path, { url: receiver.url, ...body });
    expect(response.status, response.text).to.equal(201);
    return WebhookWithSecret.parse(response.json());
  }

  const detail = async (id: string): Promise<Webhook> =>
    Webhook.parse((await client.get(`${path}/${id}`)).json());

  async function tested(id: string): Promise<WebhookDelivery> {
    const response = await client.post(`${path}/${id}/test`);
    expect(response.status, response.text).to.equal(202);
    return WebhookDelivery.parse(response.json());
  }

  async function deliveriesOf(id: string, query = ""): Promise<WebhookDeliveriesResponse> {
    const response = await client.get(`${path}/${id}/deliveries${query}`);
    expect(response.status, response.text).to.equal(200);
    return WebhookDeliveriesResponse.parse(response.json());
  }

  const record = (): Promise<void> =>
    recordWebhookEvent(api.deps.postgres.pool, game.id, {
      type: "version.activated",
      data: { gameVersionId: game.versionId ?? "", channel: "default" },
    });

  it("are created with a secret that is shown once, listed, changed and removed", async () => {
    const { secret, ...webhook } = await created({ description: "Build server", events: ["run.crashed"] });
    expect(secret).to.match(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(webhook).to.deep.include({
      url: receiver.url,
      description: "Build server",
      events: ["run.crashed"],
      enabled: true,
      disabledReason: null,
      waiting: 0,
    });
    const list = await client.get(path);
    expect(WebhooksResponse.parse(list.json())).to.deep.equal({ webhooks: [webhook] });
    expect(list.text).not.to.include(secret);
    expect(await detail(webhook.id)).to.deep.equal(webhook);
    const changed = await client.patch(`${path}/${webhook.id}`, {
      description: "",
      events: [],
      enabled: false,
    });
    expect(changed.json()).to.deep.equal({ ...webhook, description: "", events: [], enabled: false });
    expect((await client.delete(`${path}/${webhook.id}`)).status).to.equal(204);
    expectErrorResponse(await client.get(`${path}/${webhook.id}`), 404, "not_found");
    expect((await client.get(path)).json()).to.deep.equal({ webhooks: [] });
  });

  it("are another partner's for nobody else, and need a key", async () => {
    const { id } = await created();
    const { id: deliveryId } = await tested(id);
    const other = api.asPartner(await aPartner(api.deps));
    const requests = (caller: ApiClient): Promise<ApiResponse>[] => [
      caller.get(`${path}/${id}`),
      caller.patch(`${path}/${id}`, { enabled: false }),
      caller.post(`${path}/${id}/rotate-secret`),
      caller.post(`${path}/${id}/test`),
      caller.get(`${path}/${id}/deliveries`),
      caller.post(`${path}/${id}/deliveries/${deliveryId}/replay`),
      caller.delete(`${path}/${id}`),
    ];
    for (const response of await Promise.all(requests(other)))
      expectErrorResponse(response, 404, "not_found");
    expect((await other.get(path)).json()).to.deep.equal({ webhooks: [] });
    const strangers = [api.anonymous(), api.as(await aUser(api.deps))];
    for (const stranger of strangers)
      for (const response of await Promise.all([stranger.get(path), ...requests(stranger)]))
        expectErrorResponse(response, 401, "unauthorized");
    expect(await detail(id)).to.include({ enabled: true });
  });

  it("are refused for addresses that are not https to a public host", async () => {
    nameserver.addresses.set("private.example", "10.0.0.1");
    nameserver.addresses.set("metadata.example", "169.254.169.254");
    nameserver.addresses.set("receiver.example", "127.0.0.1");
    const { id } = await created({ url: "https://receiver.example/hook" });
    for (const url of [
      "ftp://receiver.example",
      "https://user:pass@receiver.example",
      "https://receiver.example/#part",
      "https://",
      "https://10.0.0.1",
      "https://[::ffff:10.0.0.1]",
      "https://[::1]/",
      "https://[64:ff9b::a00:1]",
      "https://0xa9fea9fe",
      "https://2130706433.1",
      "https://203.0.113.7",
      "https://private.example",
      "https://metadata.example/latest",
      "https://unknown.example",
      "https://localhost",
      `https://receiver.example/${"x".repeat(2048)}`,
    ]) {
      expectErrorResponse(await client.post(path, { url }), 400, "invalid_request");
      expectErrorResponse(await client.patch(`${path}/${id}`, { url }), 400, "invalid_request");
    }
    expect(await detail(id)).to.include({ url: "https://receiver.example/hook" });
    const { details } = (await client.post(path, { url: "https://private.example" })).json<{
      details: unknown;
    }>();
    expect(details).to.deep.equal([{ path: "url", message: "must have a host with a public address" }]);
    expectErrorResponse(
      await client.post(path, { url: receiver.url, events: ["no.such"] }),
      400,
      "invalid_request",
    );
  });

  it("are at most ten, also when they are created at the same time", async () => {
    const responses = await Promise.all(
      Array.from({ length: 12 }, () => client.post(path, { url: receiver.url })),
    );
    expect(responses.map(({ status }) => status).toSorted()).to.deep.equal([
      ...Array.from({ length: 10 }, () => 201),
      409,
      409,
    ]);
  });

  it("receive a signed test event", async () => {
    const { id, secret } = await created({ events: ["run.crashed"] });
    const { id: messageId } = await tested(id);
    await sender.pass();
    const [delivery] = await receiver.waitFor(1);
    expect(delivery!.headers).to.include({ "webhook-id": messageId, "content-type": "application/json" });
    expect(verified(delivery!, secret)).to.deep.include({ type: "webhook.test", data: { webhookId: id } });
    expect((await deliveriesOf(id)).deliveries).to.have.length(1);
    expect((await deliveriesOf(id)).deliveries[0]).to.deep.include({
      id: messageId,
      status: "succeeded",
      attempts: 1,
      nextAttemptAt: null,
      responseStatus: 204,
      response: "",
      error: null,
    });
    expect((await detail(id)).lastSuccessAt).to.be.a("string");
  });

  it("receive at most ten tests and replays a minute", async () => {
    const { id } = await created();
    const { id: deliveryId } = await tested(id);
    for (let count = 1; count < 10; count++) await tested(id);
    for (const action of ["test", `deliveries/${deliveryId}/replay`])
      expectErrorResponse(await client.post(`${path}/${id}/${action}`), 429, "rate_limited");
    expect((await deliveriesOf(id)).deliveries).to.have.length(10);
  });

  it("receive only the events that they want, of their partner's games", async () => {
    const all = await created();
    const some = await created({ events: ["version.activated", "version.activated"] });
    const others = await created({ events: ["run.crashed"] });
    const disabled = await created({ enabled: false });
    const elsewhere = api.asPartner(await aPartner(api.deps));
    await elsewhere.post(path, { url: receiver.url });
    await record();
    await sender.pass();
    expect(receiver.received).to.have.length(2);
    for (const { id } of [all, some]) expect((await deliveriesOf(id)).deliveries).to.have.length(1);
    for (const { id } of [others, disabled]) expect((await deliveriesOf(id)).deliveries).to.be.empty;
  });

  it("sign with the old and the new secret for a day after a rotation", async () => {
    const { id, secret: old } = await created();
    const response = await client.post(`${path}/${id}/rotate-secret`);
    const { secret, previousSecretUntil } = WebhookWithSecret.parse(response.json());
    expect(secret).not.to.equal(old);
    const hours = (Date.parse(previousSecretUntil ?? "") - Date.now()) / 3_600_000;
    expect(hours).to.be.closeTo(24, 0.1);
    await tested(id);
    await sender.pass();
    for (const valid of [old, secret])
      expect(verified(receiver.received[0]!, valid).type).to.equal("webhook.test");
    await api.deps.postgres.pool.query(
      "UPDATE webhook_endpoints SET previous_secret_until = now() WHERE id = $1",
      [id],
    );
    expect((await detail(id)).previousSecretUntil).to.equal(null);
    await tested(id);
    await sender.pass();
    expect(verified(receiver.received[1]!, secret).type).to.equal("webhook.test");
    expect(() => verified(receiver.received[1]!, old)).to.throw("No matching signature");
  });

  it("send a delivery again under its id when it is replayed", async () => {
    const { id, secret } = await created();
    await record();
    await sender.pass();
    const [delivery] = (await deliveriesOf(id)).deliveries;
    const replayed = await client.post(`${path}/${id}/deliveries/${delivery!.id}/replay`);
    expect(replayed.status, replayed.text).to.equal(202);
    expect(replayed.json()).to.deep.include({ id: delivery!.id, status: "pending" });
    await sender.pass();
    const [first, second] = receiver.received;
    expect(second!.headers["webhook-id"]).to.equal(first!.headers["webhook-id"]);
    expect(verified(second!, secret)).to.deep.equal(verified(first!, secret));
    expectErrorResponse(await client.post(`${path}/${id}/deliveries/msg_none/replay`), 404, "not_found");
    await client.patch(`${path}/${id}`, { enabled: false });
    for (const action of ["test", `deliveries/${delivery!.id}/replay`])
      expectErrorResponse(await client.post(`${path}/${id}/${action}`), 409, "conflict");
  });

  it("list deliveries in pages, newest first, and by status", async () => {
    const { id } = await created();
    const ids = [];
    for (let count = 0; count < 5; count++) ids.unshift((await tested(id)).id);
    const first = await deliveriesOf(id, "?limit=3");
    const second = await deliveriesOf(id, `?limit=3&cursor=${first.nextCursor}`);
    expect([...first.deliveries, ...second.deliveries].map((delivery) => delivery.id)).to.deep.equal(ids);
    expect(second.nextCursor).to.equal(null);
    expect((await deliveriesOf(id, "?status=failed")).deliveries).to.be.empty;
    expect((await deliveriesOf(id, "?status=pending")).deliveries).to.have.length(5);
    expect(await detail(id)).to.include({ waiting: 5 });
    expectErrorResponse(await client.get(`${path}/${id}/deliveries?cursor=x`), 400, "invalid_request");
    await client.patch(`${path}/${id}`, { enabled: false });
    expect((await deliveriesOf(id)).deliveries[0]).to.deep.include({
      status: "failed",
      error: "The webhook was disabled.",
    });
  });

  it("count events that find the queue full", async () => {
    const { id } = await created();
    await api.deps.postgres.pool.query(
      `INSERT INTO webhook_deliveries (id, endpoint_id, type, data, next_attempt_at, expires_at)
        SELECT 'msg_full_' || $1 || n, $1, 'webhook.test', '{}', now() + interval '1 hour', now() + interval '1 day' FROM generate_series(1, 999) n`,
      [id],
    );
    await record();
    expect(await detail(id)).to.include({ waiting: 1000, droppedEvents: 0 });
    await record();
    expect(await detail(id)).to.include({ waiting: 1000, droppedEvents: 1 });
    expectErrorResponse(await client.post(`${path}/${id}/test`), 409, "conflict");
  });

  it("keep deliveries for 30 days, and give up those that could not be sent in a day", async () => {
    const { id } = await created();
    const [late, old] = [await tested(id), await tested(id)];
    const set = (delivery: string, values: string) =>
      api.deps.postgres.pool.query(`UPDATE webhook_deliveries SET ${values} WHERE id = $1`, [delivery]);
    await set(
      late.id,
      "next_attempt_at = now() - interval '2 hours', expires_at = now() - interval '1 hour'",
    );
    await set(old.id, "status = 'failed', next_attempt_at = NULL, created_at = now() - interval '31 days'");
    await sender.pass();
    await sweepDeliveries(api.deps);
    expect(receiver.received).to.be.empty;
    const { deliveries } = await deliveriesOf(id);
    expect(deliveries.map((delivery) => [delivery.id, delivery.status])).to.deep.equal([[late.id, "failed"]]);
  });

  it("have secrets in no log and no row, and in the trail only their host", async () => {
    const { id, secret } = await created({ url: `${receiver.url}?token=hidden-1` });
    const rotated = WebhookWithSecret.parse((await client.post(`${path}/${id}/rotate-secret`)).json());
    await tested(id);
    await sender.pass();
    await client.delete(`${path}/${id}`);
    const log = api.logLines.join("\n");
    const stored = await everythingStored(api);
    for (const text of [secret, rotated.secret]) {
      expect(log).not.to.include(text);
      expect(stored).not.to.include(text);
    }
    expect(log).not.to.include("hidden-1");
    await api.deps.audit.settled();
    const events = await api.deps.postgres.prisma.auditEvent.findMany({
      where: { actorId: partner.id, action: { startsWith: "webhook." } },
      orderBy: { id: "asc" },
    });
    expect(events.map(({ action, details }) => [action, details])).to.deep.equal([
      ["webhook.created", { webhook: id, host: `127.0.0.1:${receiver.port}` }],
      ["webhook.secretRotated", { webhook: id }],
      ["webhook.deleted", { webhook: id }],
    ]);
  });

  it("keep their secrets when the signing key is replaced", async () => {
    const { id, secret } = await created();
    const keys = api.deps.config.auth.signingKeys;
    const webhookSecrets = new WebhookSecrets(new Map([["next", Buffer.alloc(32, 7)], ...keys]));
    await resealWebhookSecrets({ ...api.deps, webhookSecrets });
    const { secret: sealed } = await api.deps.postgres.prisma.webhookEndpoint.findUniqueOrThrow({
      where: { id },
    });
    expect(new WebhookSecrets(new Map([["next", Buffer.alloc(32, 7)]])).open(id, sealed)).to.equal(secret);
    await tested(id);
    await sender.pass();
    expect(receiver.received, "without the key").to.be.empty;
    expect((await deliveriesOf(id)).deliveries[0]).to.include({
      status: "pending",
      error: "The signing secret is no longer readable. Rotate it.",
    });
  });

  it("are shown with their health by joypod partner show", async () => {
    const { id } = await created();
    receiver.answer = (response) => response.writeHead(500).end();
    await tested(id);
    await sender.pass();
    const { stdout } = await runJoypod(["partner", "show", partner.name], {
      env: { DATABASE_URL: api.database.url },
    });
    expect(stdout).to.match(
      new RegExp(`Webhook: +${id}: 127\\.0\\.0\\.1:${receiver.port}, failing since .*, waiting: 1`),
    );
  });
});
