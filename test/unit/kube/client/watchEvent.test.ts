import { expect } from "chai";
import { configMaps } from "#kube/api/builtin.ts";
import { isGone, KubeError } from "#kube/api/errors.ts";
import { readLines } from "#kube/client/lines.ts";
import type { KubeObject } from "#kube/api/object.ts";
import type { ResourceType } from "#kube/api/resourceType.ts";
import { decodeWatchLine } from "#kube/client/watchEvent.ts";

const metadata = { name: "a", namespace: "default", uid: "u", resourceVersion: "5" };

describe("decodeWatchLine", () => {
  const decode = (event: unknown): unknown => decodeWatchLine(configMaps, JSON.stringify(event));

  it("keeps unknown fields", () => {
    expect(decode({ type: "ADDED", object: { metadata, brandNew: { deep: [1] } } })).to.deep.equal({
      type: "changed",
      resourceVersion: "5",
      object: { apiVersion: "v1", kind: "ConfigMap", metadata, brandNew: { deep: [1] } },
    });
  });

  it("drops managedFields", () => {
    const managedFields = [{ manager: "joypod-operator", operation: "Apply", fieldsV1: { "f:status": {} } }];
    expect(decode({ type: "ADDED", object: { metadata: { ...metadata, managedFields } } })).to.deep.equal({
      type: "changed",
      resourceVersion: "5",
      object: { apiVersion: "v1", kind: "ConfigMap", metadata },
    });
  });

  it("decodes bookmarks and deletions", () => {
    expect(decode({ type: "BOOKMARK", object: { metadata: { resourceVersion: "9" } } })).to.deep.equal({
      type: "bookmark",
      resourceVersion: "9",
    });
    expect(decode({ type: "DELETED", object: { metadata } })).to.include({ type: "deleted" });
  });

  it("throws the error of an ERROR event", () => {
    const error = thrownBy(() =>
      decode({ type: "ERROR", object: { kind: "Status", code: 410, reason: "Expired", message: "too old" } }),
    );
    expect(isGone(error)).to.equal(true);
  });

  it("rejects invalid lines", () => {
    for (const line of [
      '{"type":"ADDED","obj',
      "[]",
      '{"type":"NEWS"}',
      '{"type":"ADDED","object":{"metadata":{"name":"a"}}}',
    ]) {
      expect(
        thrownBy(() => decodeWatchLine(configMaps, line)),
        line,
      ).to.be.instanceOf(KubeError);
    }
  });

  it("returns the version of an object that the type rejects, so that the watch can continue", () => {
    const strict: ResourceType<KubeObject> = {
      ...configMaps,
      parse: () => {
        throw new Error("no such field");
      },
    };
    const event = decodeWatchLine(strict, JSON.stringify({ type: "ADDED", object: { metadata } }));
    expect(event).to.include({ type: "rejected", resourceVersion: "5" });
  });
});

describe("readLines", () => {
  it("joins lines that are split anywhere, including inside a character", async () => {
    const bytes = Buffer.from('{"a":"é€"}\n\n{"b":1}\n');
    for (let cut = 1; cut < bytes.length; cut++) {
      expect(await collect([bytes.subarray(0, cut), bytes.subarray(cut)])).to.deep.equal([
        '{"a":"é€"}',
        '{"b":1}',
      ]);
    }
  });

  it("throws when the stream ends inside a line", async () => {
    const failure = await collect([Buffer.from('{"a":1}\n{"b"')]).catch((error: unknown) => error);
    expect(failure).to.be.instanceOf(KubeError);
  });
});

async function collect(chunks: Uint8Array[]): Promise<string[]> {
  async function* stream(): AsyncGenerator<Uint8Array> {
    for (const chunk of chunks) yield await Promise.resolve(chunk);
  }
  const lines: string[] = [];
  for await (const line of readLines(stream())) lines.push(line);
  return lines;
}

function thrownBy(action: () => unknown): unknown {
  try {
    action();
  } catch (error) {
    return error;
  }
  return undefined;
}
