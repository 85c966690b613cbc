import type { ComponentProps } from "react";

/**
 * A button, also one that submits a form, which does nothing while `isBusy` and keeps the keyboard's focus:
 * one that is disabled loses it.
 */
export function ActionButton({
  isBusy,
  onClick,
  ...button
}: Omit<ComponentProps<"button">, "onClick" | "aria-disabled"> & { isBusy: boolean; onClick?: () => void }) {
  return (
    <button
      type="button"
      {...button}
      aria-disabled={isBusy}
      onClick={(event) => {
        if (isBusy) event.preventDefault();
        else onClick?.();
      }}
    />
  );
}
