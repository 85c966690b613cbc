import { useEffect, useRef, useState, type RefObject } from "react";
import { accessStorage } from "../client/browser.ts";
import { canLockPointer } from "../stream/pointerLock.ts";

const explainedMs = 6_000;

/** Locks the pointer on a click while the game hides its pointer, unless the player refused that. */
export interface ClickLock {
  /** Whether the next click on the picture locks the pointer; for event listeners. */
  isDue: RefObject<boolean>;
  /** Whether the player can choose: the game has hidden its pointer at some time. */
  isOffered: boolean;
  isAllowed: boolean;
  /** Whether the page explains a lock that the player did not ask for. */
  isExplained: boolean;
  toggle: () => void;
}

/** Returns the click lock of a game, and remembers the player's choice for it in this browser. */
export function useClickLock(game: string, isPointerHidden: boolean, isLocked: boolean): ClickLock {
  const [isAllowed, setIsAllowed] = useState(() => !isRefused(game));
  const [wasHidden, setWasHidden] = useState(false);
  if (isPointerHidden && !wasHidden) setWasHidden(true);
  const isWanted = isPointerHidden && isAllowed && canLockPointer();
  const isDue = useRef(false);
  useEffect(() => {
    isDue.current = isWanted;
  }, [isWanted]);
  return {
    isDue,
    isOffered: wasHidden && canLockPointer(),
    isAllowed,
    isExplained: useExplanation(isLocked && isWanted),
    toggle: () => {
      setIsAllowed(!isAllowed);
      remember(game, isAllowed);
    },
  };
}

/** Returns true for some seconds after the first time that the pointer is locked. */
function useExplanation(isLocked: boolean): boolean {
  const [phase, setPhase] = useState<"before" | "now" | "after">("before");
  if (isLocked && phase === "before") setPhase("now");
  useEffect(() => {
    if (phase !== "now") return undefined;
    const timer = setTimeout(() => setPhase("after"), explainedMs);
    return () => clearTimeout(timer);
  }, [phase]);
  return phase === "now";
}

function keyOf(game: string): string {
  return `joypod.noClickLock.${game}`;
}

function isRefused(game: string): boolean {
  return (
    accessStorage(
      () => localStorage,
      (items) => items.getItem(keyOf(game)) !== null,
    ) ?? false
  );
}

/** Without usable storage the choice is valid for as long as the page shows the game. */
function remember(game: string, isNowRefused: boolean): void {
  accessStorage(
    () => localStorage,
    (items) => (isNowRefused ? items.setItem(keyOf(game), "1") : items.removeItem(keyOf(game))),
  );
}
