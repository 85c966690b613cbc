import { useId, useLayoutEffect, useRef, type ReactNode } from "react";

/** A modal dialog. Escape and a click on the backdrop call `onDismiss`, after which it may stay; the browser keeps the focus inside. */
export function Dialog({ title, children, actions, onDismiss }: {
  title: string;
  children: ReactNode;
  actions: ReactNode;
  onDismiss: () => void;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  const isPressedOutside = useRef(false);
  // The layout phase closes the dialog while it is still in the page, so that the browser can give the focus back.
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
        onDismiss();
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
        if (event.target === dialog.current && isPressedOutside.current) onDismiss();
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
