import { useCallback, useEffect, useRef, useState } from "react";
import { useMutation } from "@tanstack/react-query";
import { type TestStep, runConnectionTest } from "./runConnectionTest.ts";
import { readTestResult, storeTestResult, type TestResult } from "./testResult.ts";

/** The progress of a test. */
export interface TestProgress {
  way: "direct" | "relay";
  step: TestStep;
}

export interface ConnectionTestState {
  /** The last valid result, of this page or an earlier one. */
  result: TestResult | undefined;
  /** Undefined while no test is running. */
  progress: TestProgress | undefined;
  /** Why the last test had no result. */
  error: Error | null;
  start: () => void;
  /** Ends the running test without a result. */
  cancel: () => void;
}

const firstProgress: TestProgress = { way: "direct", step: "connecting" };

/** Runs connection tests and stores their results. Leaving the page ends its test. */
export function useConnectionTest(): ConnectionTestState {
  const [result, setResult] = useState(() => readTestResult());
  const [progress, setProgress] = useState<TestProgress>(firstProgress);
  const running = useRef<AbortController>(undefined);
  const { mutate, isPending, error } = useMutation({
    mutationFn: async (signal: AbortSignal) => {
      try {
        return await runConnectionTest({ signal, onStep: (way, step) => setProgress({ way, step }) });
      } catch (cause) {
        if (signal.aborted) return undefined;
        throw cause;
      }
    },
    onSuccess: (found) => {
      if (found === undefined) return;
      storeTestResult(found);
      setResult(found);
    },
  });
  useEffect(() => () => running.current?.abort(), []);
  return {
    result,
    progress: isPending ? progress : undefined,
    error,
    start: useCallback(() => {
      running.current = new AbortController();
      setProgress(firstProgress);
      mutate(running.current.signal);
    }, [mutate]),
    cancel: useCallback(() => running.current?.abort(), []),
  };
}
