"""Opens a dialog of its window, which asks later to stay above other windows."""

import tkinter

root = tkinter.Tk()
dialog = tkinter.Toplevel(root)
dialog.geometry("300x120+200+200")
dialog.transient(root)
dialog.after(800, lambda: dialog.attributes("-topmost", 1))
dialog.after(
    2000,
    lambda: print(
        f"dialog {dialog.winfo_width()}x{dialog.winfo_height()} of {root.winfo_width()}x{root.winfo_height()}",
        flush=True,
    ),
)
root.mainloop()
