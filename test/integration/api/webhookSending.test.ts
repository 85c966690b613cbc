import { once } from "node:events";
import { createServer } from "node:https";
import { readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { expect } from "chai";
import { WebhookDeliveriesResponse, Webhook, WebhookWithSecret } from "#contracts/http/webhooks.ts";
import { parseNetwork } from "#api/webhooks/addresses.ts";
import { WebhookDestinations, type DestinationConfig } from "#api/webhooks/destinations.ts";
import { recordWebhookEvent } from "#api/webhooks/eventQueries.ts";
import { WebhookSender } from "#api/webhooks/sender.ts";
import { aGame, aPartner, type TestGame, type TestPartner } from "#test/factories/catalog.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { TestApi } from "#test/support/http/api.ts";
import { ApiProcess } from "#test/support/http/apiProcess.ts";
import type { ApiClient } from "#test/support/http/apiClient.ts";
import { CertificateAuthority } from "#test/support/http/certificates.ts";
import { verified, WebhookReceiver } from "#test/support/http/webhookReceiver.ts";
import { Nameserver } from "#test/support/network/nameserver.ts";

const path = "/api/partners/webhooks";

describe("sending webhooks", function () {
  this.timeout(60_000);
  let api: TestApi;
  let sender: WebhookSender;
  let receiver: WebhookReceiver;
  let partner: TestPartner;
  let client: ApiClient;
  let game: TestGame;

  before(async () => {
    api = await TestApi.start();
    sender = new WebhookSender(api.deps);
  });
  beforeEach(async () => {
    receiver = await WebhookReceiver.start();
    partner = await aPartner(api.deps);
    client = api.asPartner(partner);
    game = await aGame(api.deps, { partnerId: partner.id });
  });
  afterEach(async () => {
    await receiver.stop();
    await api.deps.postgres.pool.query("DELETE FROM webhook_endpoints");
  });
  after(() => api.stop());

  async function created(url = receiver.url): Promise<WebhookWithSecret> {
    const response = await client.post(path, { url });
    expect(response.status, response.text).to.equal(201);
    return WebhookWithSecret.parse(response.json());
  }

  const record = (db = api.deps.postgres.pool as Parameters<typeof recordWebhookEvent>[0]): Promise<void> =>
    recordWebhookEvent(db, game.id, {
      type: "version.activated",
      data: { gameVersionId: game.versionId ?? "", channel: "default" },
    });

  const detail = async (id: string): Promise<Webhook> =>
    Webhook.parse((await client.get(`${path}/${id}`)).json());

  async function deliveriesOf(id: string): Promise<WebhookDeliveriesResponse["deliveries"]> {
    const response = await client.get(`${path}/${id}/deliveries`);
    return WebhookDeliveriesResponse.parse(response.json()).deliveries;
  }

  /** As if all waiting deliveries of the endpoint were due. */
  const makeDue = (id: string) =>
    api.deps.postgres.pool.query(
      "UPDATE webhook_deliveries SET next_attempt_at = now() WHERE endpoint_id = $1 AND status = 'pending'",
      [id],
    );

  /** As if the next attempts of the endpoint's deliveries were their last ones. */
  const makeLast = (id: string) =>
    api.deps.postgres.pool.query(
      "UPDATE webhook_deliveries SET attempts = 20, expires_at = now() + interval '1 hour' WHERE endpoint_id = $1",
      [id],
    );

  /** Returns a sender with another way out. */
  function senderTo(config: Partial<DestinationConfig>, attemptMs?: number): WebhookSender {
    const destinations = new WebhookDestinations({ ...api.deps.config.webhooks, ...config }, attemptMs);
    return new WebhookSender({ ...api.deps, webhookDestinations: destinations });
  }

  it("happens exactly if what happened is committed", async () => {
    const { id, secret } = await created();
    const failure = api.deps.postgres.transaction(async (transaction) => {
      await record(transaction);
      throw new Error("rolled back");
    });
    await failure.catch(() => undefined);
    await sender.pass();
    expect(await deliveriesOf(id)).to.be.empty;
    await api.deps.postgres.transaction((transaction) => record(transaction));
    await sender.pass();
    expect(receiver.received).to.have.length(1);
    expect(verified(receiver.received[0]!, secret)).to.deep.include({
      type: "version.activated",
      data: {
        gameSlug: game.slug,
        gameVersionId: game.versionId,
        versionLabel: null,
        channel: "default",
      },
    });
  });

  it("is retried with growing delays, under the same id, until it succeeds", async () => {
    const { id, secret } = await created();
    await record();
    receiver.answer = (response) => response.writeHead(500).end(`failed\0${"x".repeat(5000)}`);
    const delays: number[] = [];
    for (let attempt = 1; attempt <= 4; attempt++) {
      await makeDue(id);
      await sender.pass();
      const [delivery] = await deliveriesOf(id);
      expect(delivery).to.include({ status: "pending", attempts: attempt, responseStatus: 500 });
      expect(delivery!.error).to.equal("The response had the status 500.");
      expect(delivery!.response).to.match(/^failed\\x00x{1000,1024}$/);
      delays.push((Date.parse(delivery!.nextAttemptAt!) - Date.parse(delivery!.lastAttemptAt!)) / 1000);
    }
    delays.forEach((delay, index) => expect(delay).to.be.within(2.4 * 2 ** index, 5.5 * 2 ** index));
    expect((await detail(id)).failingSince).to.be.a("string");
    receiver.answer = (response) => response.writeHead(200).end("thanks");
    await makeDue(id);
    await sender.pass();
    expect((await deliveriesOf(id))[0]).to.include({
      status: "succeeded",
      attempts: 5,
      response: "thanks",
      error: null,
    });
    expect(await detail(id)).to.include({ failingSince: null, waiting: 0 });
    expect(new Set(receiver.received.map(({ headers }) => headers["webhook-id"])).size).to.equal(1);
    for (const delivery of receiver.received) verified(delivery, secret);
  });

  it("ends after a day", async () => {
    const { id } = await created();
    await record();
    receiver.answer = (response) => response.writeHead(503).end();
    await makeLast(id);
    await sender.pass();
    expect((await deliveriesOf(id))[0]).to.include({ status: "failed", nextAttemptAt: null });
    expect(await api.deps.metrics.registry.getSingleMetricAsString("joypod_webhook_attempts_total")).to.match(
      /result="exhausted"\} [1-9]/,
    );
  });

  it("follows no redirect", async () => {
    const target = await WebhookReceiver.start();
    const { id } = await created();
    await record();
    receiver.answer = (response) => response.writeHead(307, { location: target.url }).end();
    await sender.pass();
    expect((await deliveriesOf(id))[0]).to.include({ status: "pending", responseStatus: 307 });
    expect(target.received).to.be.empty;
    await target.stop();
  });

  it("gives up a slow receiver, which delays no other one", async () => {
    const slow = await created();
    const other = await WebhookReceiver.start();
    const fast = await created(other.url);
    receiver.answer = () => undefined;
    await record();
    await record();
    const passing = senderTo({}, 500).pass();
    await other.waitFor(2);
    expect((await deliveriesOf(slow.id)).map(({ status }) => status)).to.deep.equal(["pending", "pending"]);
    await passing;
    expect((await deliveriesOf(slow.id))[0]).to.include({
      status: "pending",
      responseStatus: null,
      error: "There was no response within 10 seconds.",
    });
    expect((await deliveriesOf(fast.id)).map(({ status }) => status)).to.deep.equal([
      "succeeded",
      "succeeded",
    ]);
    await other.stop();
  });

  it("needs only the status and the start of a body that stalls or never ends", async () => {
    const { id } = await created();
    await record();
    receiver.answer = (response) => {
      response.writeHead(200).write("begun");
    };
    await senderTo({}, 500).pass();
    expect((await deliveriesOf(id))[0]).to.include({ status: "succeeded", response: "begun" });
    receiver.answer = (response) => {
      response.writeHead(200);
      const fill = (): void => {
        while (response.write("y".repeat(65_536)));
        response.once("drain", fill);
      };
      fill();
    };
    await record();
    await senderTo({}).pass();
    expect((await deliveriesOf(id))[0]).to.include({ status: "succeeded", response: "y".repeat(1024) });
  });

  it("goes to no address that is not allowed, whatever the name resolves to later", async () => {
    const nameserver = await Nameserver.start();
    const way = { allowed: [parseNetwork("127.0.0.1")], nameservers: [nameserver.address] };
    nameserver.addresses.set("rebound.example", "127.0.0.1");
    await new WebhookDestinations({ ...api.deps.config.webhooks, ...way }).check("http://rebound.example/");
    const { id } = await created();
    const setUrl = (url: string) =>
      api.deps.postgres.pool.query("UPDATE webhook_endpoints SET url = $2 WHERE id = $1", [id, url]);
    for (const address of ["127.0.0.2", "10.0.0.1", "169.254.169.254", "203.0.113.7"]) {
      nameserver.addresses.set("rebound.example", address);
      for (const host of ["rebound.example", address]) {
        await setUrl(`http://${host}:${receiver.port}/hook`);
        await record();
        await senderTo(way).pass();
        expect((await deliveriesOf(id))[0], host).to.include({
          responseStatus: null,
          error: "The address must have a host with a public address.",
        });
      }
    }
    expect(receiver.received).to.be.empty;
    // Each look-up says something else: the first answer is the one that is checked and used.
    let questions = 0;
    nameserver.addresses.set("rebound.example", () => (questions++ === 0 ? "127.0.0.1" : "127.0.0.2"));
    await setUrl(`http://rebound.example:${receiver.port}/hook`);
    await record();
    await senderTo(way).pass();
    expect([receiver.received.length, questions]).to.deep.equal([1, 1]);
    expect(receiver.received[0]!.headers.host).to.equal(`rebound.example:${receiver.port}`);
    await setUrl("http://unknown.example/");
    await record();
    await senderTo(way).pass();
    expect((await deliveriesOf(id))[0]!.error).to.equal("The address must have a host name that resolves.");
    await nameserver.stop();
  });

  it("needs https with a valid certificate unless the site allows http", async () => {
    const { certificateFile, keyFile } = await (
      await CertificateAuthority.create()
    ).server("receiver", ["IP:127.0.0.1"]);
    const secure = createServer(
      { cert: readFileSync(certificateFile), key: readFileSync(keyFile) },
      (_request, response) => response.end(),
    );
    secure.listen(0, "127.0.0.1");
    await once(secure, "listening");
    const { id } = await created(`https://127.0.0.1:${(secure.address() as AddressInfo).port}/`);
    await record();
    await sender.pass();
    expect((await deliveriesOf(id))[0]!.error).to.match(/^The TLS connection failed \([A-Z_]+\)\.$/);
    secure.close();
    await client.patch(`${path}/${id}`, { url: receiver.url });
    await record();
    await senderTo({ isHttpAllowed: false }).pass();
    expect((await deliveriesOf(id))[0]!.error).to.equal("The address must be an https address.");
    expect(receiver.received).to.be.empty;
  });

  it("says that nothing listens", async () => {
    const { id } = await created();
    await receiver.stop();
    await record();
    await sender.pass();
    expect((await deliveriesOf(id))[0]!.error).to.equal("The connection failed (ECONNREFUSED).");
    receiver = await WebhookReceiver.start();
  });

  it("ends for an endpoint that is gone, or that has failed for five days", async () => {
    const gone = await created();
    receiver.answer = (response) => response.writeHead(410).end();
    await record();
    await record();
    await sender.pass();
    expect(receiver.received).to.have.length(1);
    expect(await detail(gone.id)).to.include({ enabled: false, disabledReason: "gone", waiting: 0 });
    receiver.answer = (response) => response.writeHead(500).end();
    const failing = await created();
    await api.deps.postgres.pool.query(
      "UPDATE webhook_endpoints SET failing_since = now() - interval '5 days 1 minute' WHERE id = $1",
      [failing.id],
    );
    await record();
    await sender.pass();
    expect(await detail(failing.id), "while it is retried").to.include({ enabled: true, waiting: 1 });
    await makeDue(failing.id);
    await makeLast(failing.id);
    await sender.pass();
    expect(await detail(failing.id)).to.include({ enabled: false, disabledReason: "failing", waiting: 0 });
    await api.deps.audit.settled();
    const events = await api.deps.postgres.prisma.auditEvent.findMany({
      where: { action: "webhook.disabled", subjectId: partner.id },
      orderBy: { id: "asc" },
    });
    expect(events.map(({ details }) => details)).to.deep.equal([
      { webhook: gone.id, reason: "gone" },
      { webhook: failing.id, reason: "failing" },
    ]);
    const enabled = await client.patch(`${path}/${failing.id}`, { enabled: true });
    expect(enabled.json()).to.include({ enabled: true, disabledReason: null, failingSince: null });
  });

  it("forgets the failures of an address that is replaced", async () => {
    const { id } = await created();
    receiver.answer = (response) => response.writeHead(500).end();
    await record();
    await sender.pass();
    const { failingSince, url } = await detail(id);
    expect(failingSince).to.be.a("string");
    expect((await client.patch(`${path}/${id}`, { url })).json()).to.include({ failingSince });
    const moved = await client.patch(`${path}/${id}`, { url: `${url}?moved` });
    expect(moved.json()).to.include({ failingSince: null });
  });

  it("leaves out an endpoint that is removed at the same time", async () => {
    const [removed, kept] = [await created(), await created()];
    const isWaiting =
      "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let recording = Promise.resolve();
    await api.deps.postgres.transaction(async (transaction) => {
      await transaction.query("DELETE FROM webhook_endpoints WHERE id = $1", [removed.id]);
      recording = record();
      await eventually(async () => (await api.deps.postgres.pool.query(isWaiting)).rowCount === 1);
    });
    await recording;
    expect(await deliveriesOf(kept.id)).to.have.length(1);
  });

  it("waits while the partner is suspended", async () => {
    const { id } = await created();
    await record();
    const suspend = (at: string) =>
      api.deps.postgres.pool.query(`UPDATE partners SET suspended_at = ${at} WHERE id = $1`, [partner.id]);
    await suspend("now()");
    await record();
    await sender.pass();
    expect(receiver.received).to.be.empty;
    await suspend("NULL");
    await sender.pass();
    expect(receiver.received, "without what happened meanwhile").to.have.length(1);
    expect(await deliveriesOf(id)).to.have.length(1);
  });

  it("sends each delivery once from several replicas", async () => {
    await created();
    const second = await WebhookReceiver.start();
    await created(second.url);
    for (let count = 0; count < 10; count++) await record();
    const replicas = Array.from({ length: 4 }, () => new WebhookSender(api.deps));
    await Promise.all(replicas.map((replica) => replica.pass()));
    for (const { received } of [receiver, second]) {
      expect(received).to.have.length(10);
      expect(new Set(received.map(({ headers }) => headers["webhook-id"])).size).to.equal(10);
    }
    await second.stop();
  });

  it("survives a killed API, under the same id", async () => {
    const { id, secret } = await created();
    receiver.answer = () => undefined;
    const env = { WEBHOOK_ALLOW_HTTP: "on", WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8" };
    const process = await ApiProcess.beside(api, env);
    await record();
    await receiver.waitFor(1);
    await process.stop("SIGKILL");
    const [interrupted] = await deliveriesOf(id);
    expect(interrupted).to.include({ status: "pending", attempts: 1 });
    expect(Date.parse(interrupted!.nextAttemptAt!) - Date.now(), "the lease").to.be.within(0, 30_000);
    receiver.answer = (response) => response.writeHead(204).end();
    await makeDue(id); // As when the lease has ended.
    await process.start();
    await receiver.waitFor(2);
    await eventually(async () => (await deliveriesOf(id))[0]!.status === "succeeded", {
      what: "the success to be recorded",
    });
    await process.stop("SIGTERM");
    const [first, again] = receiver.received;
    expect(again!.headers["webhook-id"]).to.equal(first!.headers["webhook-id"]);
    expect(verified(again!, secret)).to.deep.equal(verified(first!, secret));
  });

  it("shows for how long the oldest one has been due", async () => {
    const { id } = await created();
    const metric = "joypod_webhook_oldest_due_seconds";
    const seconds = async (): Promise<number> =>
      Number((await api.deps.metrics.registry.getSingleMetricAsString(metric)).trim().split(" ").at(-1));
    expect(await seconds()).to.equal(0);
    await record();
    await api.deps.postgres.pool.query(
      "UPDATE webhook_deliveries SET next_attempt_at = now() - interval '1 minute' WHERE endpoint_id = $1",
      [id],
    );
    expect(await seconds()).to.be.within(59, 90);
  });
});
