import { useId, useLayoutEffect, useRef, type ReactNode } from "react";

/** A modal dialog. Escape and a click on the backdrop call `onDismiss`; the browser keeps the focus inside. */
export function Dialog({ title, children, actions, onDismiss }: {
  title: string;
  children: ReactNode;
  actions: ReactNode;
  onDismiss: () => void;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
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
      onClick={(event) => {
        if (event.target === dialog.current) onDismiss();
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
