import { useId, useLayoutEffect, useRef, type ReactNode } from "react";

/**
 * A modal dialog. Escape and a click on the backdrop call `onDismiss`, unless an action in the dialog is in
 * progress; the dialog stays until it is removed. The browser keeps the focus inside. A held Enter key from
 * opening the dialog triggers nothing.
 */
export function Dialog({
  title,
  children,
  actions,
  isBusy = false,
  onDismiss,
}: {
  title: string;
  children: ReactNode;
  actions: ReactNode;
  isBusy?: boolean;
  onDismiss: () => void;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  const isPressedOutside = useRef(false);
  const isEnterDown = useRef(false);
  const dismiss = (): void => {
    if (!isBusy) onDismiss();
  };
  // The layout phase closes the dialog while it is still on the page, so the browser can restore the focus.
  useLayoutEffect(() => {
    const element = dialog.current;
    if (element === null) return undefined;
    // One press of a key is two events, and the dialog may open between them. A button acts on the second.
    const ignoreHeldEnter = (event: KeyboardEvent): void => {
      if (event.key === "Enter" && !isEnterDown.current) event.preventDefault();
    };
    element.addEventListener("keypress", ignoreHeldEnter);
    element.showModal();
    return () => {
      element.removeEventListener("keypress", ignoreHeldEnter);
      element.close();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      className="dialog"
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        dismiss();
      }}
      // Browsers close a dialog at the second Escape in a row, even if the first one was prevented.
      onClose={() => {
        if (dialog.current?.open === false) dialog.current.showModal();
      }}
      // A text selection that ends outside the dialog also causes a click there.
      onPointerDown={(event) => {
        isPressedOutside.current = event.target === dialog.current;
      }}
      onClick={(event) => {
        if (event.target === dialog.current && isPressedOutside.current) dismiss();
      }}
      onKeyDown={(event) => {
        if (event.key !== "Enter") return;
        if (event.repeat) event.preventDefault();
        else isEnterDown.current = true;
      }}
      onKeyUp={(event) => {
        if (event.key === "Enter") isEnterDown.current = false;
      }}
    >
      <div className="dialog-body">
        <h2 id={titleId}>{title}</h2>
        {children}
        <div className="actions">{actions}</div>
      </div>
    </dialog>
  );
}
