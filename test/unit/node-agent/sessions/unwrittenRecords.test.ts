import { writeFile } from "node:fs/promises";
import { expect } from "chai";
import { UnwrittenRecords } from "#node-agent/sessions/sessionFiles.ts";
import type { SessionRecord } from "#node-agent/sessions/record.ts";
import { silentLogger } from "#runtime/logger.ts";

describe("UnwrittenRecords", () => {
  it("logs once per session that the disk refuses its record, and again after a recovery", async () => {
    const warnings: string[] = [];
    let isFull = true;
    const logger = {
      ...silentLogger,
      warn: (_fields: object, sentence: string) => void warnings.push(sentence),
    };
    // Writes to this device fail as on a full disk.
    const records = new UnwrittenRecords(
      (record) => writeFile(isFull ? "/dev/full" : "/dev/null", JSON.stringify(record)),
      logger,
    );
    const record: SessionRecord = {
      version: 2,
      namespace: "ns",
      gameSession: "gs",
      uid: "uid",
      contentDigest: "0".repeat(64),
      slotId: "slot",
      baseGeneration: 0,
      sequence: 0,
    };
    await records.write(record);
    await records.get("gs");
    expect(warnings).to.have.length(1);
    isFull = false;
    await records.get("gs");
    expect(records.has("gs")).to.equal(false);
    isFull = true;
    await records.write(record);
    expect(warnings).to.have.length(2);
  });
});
