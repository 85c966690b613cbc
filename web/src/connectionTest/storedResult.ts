import { usingStorage } from "../client/usingStorage.ts";
import { networkKind } from "./networkKind.ts";
import { TestResult } from "./testResult.ts";

const storageKey = "joypod.connectionTest";
const freshMs = 24 * 3_600_000;

/** Keeps the result in this browser, in the place of an earlier one. */
export function storeTestResult(result: TestResult): void {
  // In a browser without storage, or with a full one, the result counts for as long as the page shows it.
  usingStorage(
    () => localStorage,
    (items) => items.setItem(storageKey, JSON.stringify(result)),
  );
}

/**
 * Returns the last result that still counts: no older than a day, and of the network that the browser is on;
 * else undefined.
 */
export function readTestResult(now: number = Date.now()): TestResult | undefined {
  const result = TestResult.safeParse(readJson()).data;
  return result !== undefined && isCurrent(result, now, networkKind()) ? result : undefined;
}

/** Whether a result counts at this time and on this kind of network. */
export function isCurrent(
  { testedAt, network }: Pick<TestResult, "testedAt" | "network">,
  now: number,
  presentNetwork: string,
): boolean {
  const age = now - Date.parse(testedAt);
  return network === presentNetwork && age >= 0 && age <= freshMs;
}

function readJson(): unknown {
  // What is no JSON is not ours, and counts as a storage that refuses.
  return usingStorage(
    () => localStorage,
    (items): unknown => JSON.parse(items.getItem(storageKey) ?? "null"),
  );
}
