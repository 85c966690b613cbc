import { randomBytes } from "node:crypto";
import { expect } from "chai";
import { Webhook } from "standardwebhooks";
import { createWebhookSecret, signaturesOf, WebhookSecrets } from "#api/webhooks/webhookSecrets.ts";

const [older, newer] = [randomBytes(32), randomBytes(32)];

describe("WebhookSecrets", () => {
  it("opens what it has sealed, for the same endpoint only", () => {
    const secrets = new WebhookSecrets(new Map([["a", older]]));
    const sealed = secrets.seal("endpoint-1", "whsec_c2VjcmV0");
    expect(sealed).to.match(/^a\.[\w-]+$/);
    expect(secrets.seal("endpoint-1", "whsec_c2VjcmV0"), "a second time").to.not.equal(sealed);
    expect(secrets.open("endpoint-1", sealed)).to.equal("whsec_c2VjcmV0");
    expect(secrets.open("endpoint-2", sealed)).to.equal(undefined);
    expect(secrets.open("endpoint-1", `${sealed.slice(0, -2)}AA`)).to.equal(undefined);
  });

  it("opens what an older key has sealed, until that key is removed", () => {
    const sealed = new WebhookSecrets(new Map([["a", older]])).seal("endpoint-1", "whsec_c2VjcmV0");
    const both = new Map([
      ["b", newer],
      ["a", older],
    ]);
    expect(new WebhookSecrets(both).open("endpoint-1", sealed)).to.equal("whsec_c2VjcmV0");
    expect(new WebhookSecrets(both).seal("endpoint-1", "whsec_c2VjcmV0")).to.match(/^b\./);
    expect(new WebhookSecrets(new Map([["b", newer]])).open("endpoint-1", sealed)).to.equal(undefined);
    expect(new WebhookSecrets(new Map([["a", newer]])).open("endpoint-1", sealed)).to.equal(undefined);
  });
});

describe("signaturesOf", () => {
  it("returns a signature for each secret that the reference library verifies", () => {
    const secrets = [createWebhookSecret(), createWebhookSecret()];
    const body = JSON.stringify({ type: "webhook.test", data: { text: "größer" } });
    const timestamp = Math.floor(Date.now() / 1000);
    const headers = {
      "webhook-id": "msg_1",
      "webhook-timestamp": String(timestamp),
      "webhook-signature": signaturesOf({ id: "msg_1", timestamp, body }, secrets),
    };
    for (const secret of secrets)
      expect(new Webhook(secret).verify(body, headers)).to.deep.equal(JSON.parse(body));
    expect(() => new Webhook(createWebhookSecret()).verify(body, headers)).to.throw("No matching signature");
    expect(() => new Webhook(secrets[0]!).verify(body, { ...headers, "webhook-id": "msg_2" })).to.throw();
  });
});
