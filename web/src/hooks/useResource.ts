import { useCallback, useEffect, useState } from "react";

/** Something that is fetched: on its way, there, or failed. */
export type Resource<Value> =
  | { state: "loading" }
  | { state: "ready"; value: Value }
  | { state: "failed"; error: unknown };

/**
 * Loads when mounted and whenever `load` changes (wrap it in useCallback), and again on `reload`. Answers that come
 * too late are dropped. `replace` changes the value in place, for what the page itself has just changed.
 */
export function useResource<Value>(load: (signal: AbortSignal) => Promise<Value>): {
  resource: Resource<Value>;
  reload: () => void;
  replace: (value: Value) => void;
} {
  const [resource, setResource] = useState<Resource<Value>>({ state: "loading" });
  const [round, setRound] = useState(0);

  useEffect(() => {
    const abort = new AbortController();
    setResource({ state: "loading" });
    load(abort.signal).then(
      (value) => !abort.signal.aborted && setResource({ state: "ready", value }),
      (error: unknown) => !abort.signal.aborted && setResource({ state: "failed", error }),
    );
    return () => abort.abort();
  }, [load, round]);

  const reload = useCallback(() => setRound((count) => count + 1), []);
  const replace = useCallback((value: Value) => setResource({ state: "ready", value }), []);
  return { resource, reload, replace };
}
