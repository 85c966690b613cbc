import { expect } from "chai";
import { Downloads, type Download } from "#node-agent/cache/downloads.ts";

function aDownload(digest: string, reservedBytes: number, writtenBytes: number): Download {
  return {
    digest,
    isForLaunch: true,
    progressPercent: 0,
    reservedBytes,
    writtenBytes,
    abandoning: new AbortController(),
    ended: Promise.resolve(),
  };
}

describe("Downloads", () => {
  it("counts reserved bytes until a download has ended, and unwritten bytes as still to be taken", () => {
    const downloads = new Downloads();
    const [half, whole] = [aDownload("half", 100, 0), aDownload("whole", 10, 12)];
    downloads.add(half);
    downloads.add(whole);
    expect(downloads.unwrittenBytes).to.equal(100);
    half.writtenBytes += 60;
    expect(downloads).to.include({ reservedBytes: 110, unwrittenBytes: 40 });
    downloads.remove(half);
    expect(downloads).to.include({ reservedBytes: 10, unwrittenBytes: 0 });
  });

  it("keeps the reservation of abandoned downloads until their files are gone, without unwritten bytes", () => {
    const downloads = new Downloads();
    const abandoned = aDownload("abandoned", 100, 30);
    downloads.add(abandoned);
    downloads.abandon(abandoned);
    expect(downloads).to.include({ reservedBytes: 100, unwrittenBytes: 0 });
    downloads.remove(abandoned);
    expect(downloads).to.include({ reservedBytes: 0, unwrittenBytes: 0 });
  });
});
