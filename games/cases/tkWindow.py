"""Saves when its window is closed."""

import os
import tkinter

root = tkinter.Tk()


def save():
    with open(os.environ["HOME"] + "/closed", "w", encoding="utf-8"):
        pass
    root.destroy()


root.protocol("WM_DELETE_WINDOW", save)
root.after(500, lambda: print("ready", flush=True))
root.mainloop()
