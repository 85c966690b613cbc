import { useEffect } from "react";

/** Sets the window's title while the component is there. */
export function useTitle(title: string | undefined): void {
  useEffect(() => {
    document.title = title === undefined ? "Joypod" : `${title} · Joypod`;
  }, [title]);
}
