"""Compiles Python modules in place when the game is packed: compileModules.py FOLDER.

Python's compileall writes a format that depends on the reference counts of objects, so builds are not reproducible.
Version 2 of the format does not. The result is valid whatever the files' times are.
"""
import importlib.util
import marshal
import os
import sys

UNCHECKED = 1  # flag: valid by the hash of its source, which is not checked
root = sys.argv[1]

for folder, folders, names in os.walk(root):
    for name in names:
        if not name.endswith(".py"):
            continue
        path = os.path.join(folder, name)
        with open(path, "rb") as file:
            source = file.read()
        try:
            code = compile(source, os.path.join("/game", os.path.relpath(path, root)), "exec", dont_inherit=True, optimize=0)
        except SyntaxError:
            continue  # samples in Python's library that cannot be imported
        target = importlib.util.cache_from_source(path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as file:
            file.write(importlib.util.MAGIC_NUMBER + UNCHECKED.to_bytes(4, "little"))
            file.write(importlib.util.source_hash(source) + marshal.dumps(code, 2))
