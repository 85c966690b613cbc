import { useEffect } from "react";

/** Sets the window's title; `undefined` stands for the plain name of the site. */
export function useTitle(title: string | undefined): void {
  useEffect(() => {
    document.title = title === undefined ? "Joypod" : `${title} · Joypod`;
  }, [title]);
}
