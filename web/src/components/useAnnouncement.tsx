import { useCallback, useEffect, useRef, useState, type ReactElement } from "react";

/**
 * Returns a live region, which is to be on the page all the time, and the function that says something in it;
 * "" takes back what was said. The region takes the focus when that was on an element that goes with what is
 * said.
 */
export function useAnnouncement(): readonly [ReactElement, (text: string) => void] {
  const [text, setText] = useState("");
  const region = useRef<HTMLParagraphElement>(null);
  const isFocusDue = useRef(false);
  const announce = useCallback((next: string) => {
    isFocusDue.current = next !== "";
    setText(next);
  }, []);
  // More than once: a dialog that closes gives the focus back to a button that goes once the page has been
  // read again.
  useEffect(() => {
    if (isFocusDue.current && document.activeElement === document.body) region.current?.focus();
  });
  // Where it is after the player's next action is their own doing.
  useEffect(() => {
    const forget = (): void => void (isFocusDue.current = false);
    for (const action of ["pointerdown", "keydown"]) document.addEventListener(action, forget, true);
    return () => {
      for (const action of ["pointerdown", "keydown"]) document.removeEventListener(action, forget, true);
    };
  }, []);
  return [
    <p
      key="announcement"
      ref={region}
      className={text === "" ? "visually-hidden" : "message"}
      role="status"
      tabIndex={-1}
    >
      {text}
    </p>,
    announce,
  ];
}
