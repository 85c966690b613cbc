import { useEffect, useRef } from "react";

/** Shows a notice in the title of the window, in front of the page's own title. */
export function useTitleNotice(notice: string): void {
  const own = useRef<string>(undefined);
  useEffect(() => {
    own.current ??= document.title;
    document.title = `${notice} ${own.current}`;
  }, [notice]);
  useEffect(
    () => () => {
      if (own.current !== undefined) document.title = own.current;
      own.current = undefined;
    },
    [],
  );
}
