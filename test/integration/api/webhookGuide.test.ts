import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { WebhookSender } from "#api/webhooks/sender.ts";
import { aPartner, type TestPartner } from "#test/factories/catalog.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { TestApi } from "#test/support/http/api.ts";
import { freePort } from "#test/support/processes/childProgram.ts";
import { repositoryRoot } from "#test/support/processes/programs.ts";

const run = promisify(execFile);

describe("the guide to webhooks", function () {
  this.timeout(60_000);
  let api: TestApi;
  let sender: WebhookSender;
  let partner: TestPartner;

  before(async () => {
    api = await TestApi.start();
    sender = new WebhookSender(api.deps);
    partner = await aPartner(api.deps);
  });
  after(() => api.stop());

  async function expectSucceeded(endpointId: string | undefined): Promise<void> {
    const deliveries = await api.deps.postgres.prisma.webhookDelivery.findMany({
      where: { endpointId: endpointId ?? "" },
    });
    expect(deliveries.map(({ status }) => status)).to.deep.equal(["succeeded"]);
  }

  it("works as docs/http.md says, with its receiver", async () => {
    const guide = readFileSync(join(repositoryRoot, "docs/http.md"), "utf8");
    const [, commands = ""] = /^```sh webhook\n(.*?)^```$/ms.exec(guide) ?? [];
    const [, program = ""] = /^```js receiver\n(.*?)^```$/ms.exec(guide) ?? [];
    const [settings, create, ...rest] = commands
      .trim()
      .replaceAll(/ +#.*$/gm, "")
      .split(/\n(?=partner )/);
    expect(rest).to.have.length(3);
    const env: Record<string, string | undefined> = {
      PATH: process.env["PATH"],
      JOYPOD_URL: api.url,
      JOYPOD_API_KEY: partner.key,
    };
    const script = async (...lines: (string | undefined)[]): Promise<Record<string, unknown>[]> =>
      (await run("bash", ["-euo", "pipefail", "-c", lines.join("\n")], { env })).stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as Record<string, unknown>);
    const port = await freePort();
    const [webhook] = await script(settings, create!.replace("$RECEIVER_URL", `http://127.0.0.1:${port}`));
    env["WEBHOOK"] = String(webhook!["id"]);
    const own = spawn(process.execPath, ["--input-type=module", "--eval", program], {
      cwd: repositoryRoot,
      env: { WEBHOOK_SECRET: String(webhook!["secret"]), PORT: String(port) },
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      await eventually(() => fetch(`http://127.0.0.1:${port}`), { what: "the receiver" });
      const [test, list] = await script(settings, rest[0], rest[1]);
      env["DELIVERY"] = String(test!["id"]);
      expect(list!["deliveries"]).to.have.length(1);
      await sender.pass();
      await expectSucceeded(env["WEBHOOK"]);
      await script(settings, rest[2]);
      await sender.pass();
      await expectSucceeded(env["WEBHOOK"]);
    } finally {
      own.kill();
      await once(own, "close");
    }
  });
});
