import { expect } from "chai";
import { z } from "zod";
import { gameCacheKind } from "#contracts/crd/gameCache.ts";
import { gameNodeKind } from "#contracts/crd/gameNode.ts";
import { gameSessionKind } from "#contracts/crd/gameSession.ts";

interface Field {
  description?: string;
  properties?: Record<string, Field>;
  items?: Field;
}

/** Returns every field below a schema with its path. */
function fieldsOf(path: string, { properties = {}, items }: Field): [path: string, field: Field][] {
  return [
    ...Object.entries(properties).flatMap(([name, field]): [string, Field][] => [
      [`${path}.${name}`, field],
      ...fieldsOf(`${path}.${name}`, field),
    ]),
    ...(items === undefined ? [] : fieldsOf(`${path}[]`, items)),
  ];
}

describe("CRD fields", () => {
  for (const { kind, spec, status } of [gameSessionKind, gameCacheKind, gameNodeKind]) {
    it(`have a description in ${kind}`, () => {
      const fields = Object.entries({ spec, status }).flatMap(([name, schema]) =>
        fieldsOf(name, z.toJSONSchema(schema, { io: "input", reused: "inline" }) as Field),
      );
      expect(fields).to.not.be.empty;
      const undescribed = fields.filter(([, { description = "" }]) => !/^[A-Z`].*\.$/.test(description));
      expect(undescribed.map(([path]) => path)).to.deep.equal([]);
    });
  }
});
