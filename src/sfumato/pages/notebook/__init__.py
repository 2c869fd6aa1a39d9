"""What notebooks show of traces, releases, certificates, channels, designs and audits: one sheet, drawn two ways.

A :class:`~.sheet.Sheet` says what there is to see: parts (tracks, panels, matrices, bars), the promise,
and figures. :mod:`.card` draws it as HTML with the SVG of :mod:`sfumato.base.drawing.panels`, which the command
line's figures come from too; :mod:`.figure` draws the same parts with matplotlib. SVG stays the source of truth because
pages and commands must draw without matplotlib (docs/protect.md).
"""
