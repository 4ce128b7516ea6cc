"""Pictures of a machine: `diagram` is text for other tools, `svg` a drawing, after `picture` and `layout`.

Pure, and it imports nothing of Interlock but `machine`.
"""
