// Program of a `helm test` pod, run as `networkTest.js ALLOWED DENIED`. The arguments are two HOST:PORT
// endpoints; the pod's policy allows only the first.
import { type Endpoint, canReach } from "../networkProbe/tryConnection.ts";
import { networkTestResult } from "./networkTestResult.ts";

const [allowed, denied] = process.argv.slice(2).map((text): Endpoint => {
  const colon = text.lastIndexOf(":");
  return { host: text.slice(0, colon).replace(/^\[|\]$/g, ""), port: Number(text.slice(colon + 1)) };
});
if (allowed === undefined || denied === undefined) throw new Error("Expected two endpoints as HOST:PORT.");
const [isAllowedOpen, isDeniedOpen] = await Promise.all([canReach(allowed), canReach(denied)]);
const { isEnforced, sentence } = networkTestResult(isAllowedOpen, isDeniedOpen);
process.stdout.write(`${sentence}\n`);
process.exitCode = isEnforced ? 0 : 1;
