import { useCallback, useEffect, useRef, useState, type ReactElement } from "react";

/**
 * Returns a live region, which must always be on the page, and a function that announces a text in it; ""
 * clears it. The region takes the focus if the focused element disappears with the announcement.
 */
export function useAnnouncement(): readonly [ReactElement, (text: string) => void] {
  const [text, setText] = useState("");
  const region = useRef<HTMLParagraphElement>(null);
  const isFocusDue = useRef(false);
  const announce = useCallback((next: string) => {
    isFocusDue.current = next !== "";
    setText(next);
  }, []);
  // After every render: a closing dialog returns the focus to a button that may disappear with the next
  // refresh.
  useEffect(() => {
    if (isFocusDue.current && document.activeElement === document.body) region.current?.focus();
  });
  // After the next action the player decides about the focus.
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
