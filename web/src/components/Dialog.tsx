import { useId, useLayoutEffect, useRef, type ReactNode } from "react";

/**
 * A modal dialog. Escape and a click on the backdrop call `onDismiss`, after which it may stay, but not while
 * what was chosen in it is under way; the browser keeps the focus inside. Enter that is still held from what
 * opened it chooses nothing.
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
  const dismiss = (): void => {
    if (!isBusy) onDismiss();
  };
  // The layout phase closes the dialog while it is still in the page, so that the browser can give the focus
  // back.
  useLayoutEffect(() => {
    const element = dialog.current;
    element?.showModal();
    return () => element?.close();
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
      // A second Escape in a row closes it whatever is said to the first.
      onClose={() => {
        if (dialog.current?.open === false) dialog.current.showModal();
      }}
      // Text that is selected beyond the edge ends there with a click, too.
      onPointerDown={(event) => {
        isPressedOutside.current = event.target === dialog.current;
      }}
      onClick={(event) => {
        if (event.target === dialog.current && isPressedOutside.current) dismiss();
      }}
      onKeyDown={(event) => {
        if (event.repeat && event.key === "Enter") event.preventDefault();
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
