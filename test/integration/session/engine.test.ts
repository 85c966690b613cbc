import { basename } from "node:path";
import { expect } from "chai";
import { compileProbe } from "#test/support/session/compileC.ts";
import { imageBuildMs, prepareSessionImages } from "#test/support/session/containers.ts";
import { startSessionPair, type SessionPair } from "#test/support/session/sessionPair.ts";

describe("an engine in a session's containers", function () {
  this.timeout(imageBuildMs);
  let pair: SessionPair | undefined;
  after(() => pair?.remove());

  it("starts although it watches files, waits for devices and connects to its own server", async () => {
    const [images, program] = await Promise.all([
      prepareSessionImages(),
      compileProbe("engineProbe", "dynamic"),
    ]);
    pair = await startSessionPair({
      images,
      game: { script: `#!/bin/sh\nexec /game/${basename(program)}\n`, programs: [program] },
      isReady: false,
    });
    const code = await pair.gameExit();
    const logs = await pair.gameLogs();
    expect(logs).to.match(/^engine starts$/m);
    expect(code, logs).to.equal(0);
  });
});
