"""Style sheets of the page. Panel gives every part a shadow root, so each part gets its own sheet."""

__all__ = ["CONTROLS", "DOCUMENT", "LARGE", "PAGE", "PANELS", "SMALL", "TEXT"]

NARROW = "@media (max-width: 760px)"
"""Screens on which everything stands in one column."""
DOCUMENT = """
html { background: #ffffff }
@media (prefers-color-scheme: dark) { html { filter: invert(0.93) hue-rotate(180deg) } }
"""
"""In dark mode lightness is inverted and hues are kept, of pictures and controls alike."""
PAGE = f"""
:host {{ min-width: 0 !important; display: grid; max-width: 1560px; margin: 0 auto; padding: 0 10px;
  column-gap: 18px; grid-template-columns: 310px minmax(0, 1fr); grid-template-rows: auto auto 1fr;
  grid-template-areas: "head curves" "controls curves" "controls rest" }}
.head {{ grid-area: head }} .controls {{ grid-area: controls }} .rest {{ grid-area: rest }}
.curves {{ grid-area: curves; background: #ffffff }}
.head, .controls, .curves, .rest {{ min-width: 0 !important; width: 100%; flex: none }}
{NARROW} {{
  :host {{ display: flex; flex-direction: column }}
  .head {{ order: 1 }} .curves {{ order: 2 }} .controls {{ order: 3 }} .rest {{ order: 4 }}
}}
@media (max-width: 760px) and (min-height: 500px) {{
  .curves {{ position: sticky !important; top: 0; z-index: 5; box-shadow: 0 3px 5px -3px #999999 }}
}}
"""
"""Controls at the left, pictures at the right; on narrow screens curves stay in sight above the controls."""
PANELS = """
:host { min-width: 0 !important; display: grid; gap: 14px;
  grid-template-columns: repeat(auto-fit, minmax(min(290px, 100%), 1fr)) }
:host > * { min-width: 0 !important; width: 100% }
"""
CONTROLS = """
:host { min-width: 0 !important; padding: 0 0 8px 0; box-sizing: border-box }
:host > * { max-width: 100%; box-sizing: border-box }
"""
LARGE = f":host {{ height: 420px !important }} {NARROW} {{ :host {{ height: 230px !important }} }}"
"""Height of the curves."""
SMALL = ":host { height: 330px !important }"
"""Height of the other panels."""
TEXT = """
.message { padding: 4px 9px; border-radius: 4px; font-size: 13px; line-height: 1.35 }
.error { background: #fbe4df; color: #7a1f0b } .hint { background: #e8f1f8 } .busy { background: #fff6dd }
.done { background: #e4f3ec } .quiet { color: #555555; padding: 0 }
.place { height: 322px; display: flex; align-items: center; justify-content: center; text-align: center;
  padding: 0 24px; border: 1px dashed #c8c8c8; border-radius: 4px; color: #555555; box-sizing: border-box;
  font-size: 13px; line-height: 1.4 }
.over { text-align: center; color: #777777; font-size: 14px }
table { border-collapse: collapse; font-size: 13px; width: 100% }
th { text-align: left; font-weight: 600; padding: 3px 14px 3px 0; white-space: nowrap; width: 1% }
td:nth-child(2) { white-space: nowrap; width: 1%; font-variant-numeric: tabular-nums }
td { padding: 3px 10px 3px 0 } tr { border-bottom: 1px solid #e4e4e4 }
.stale { color: #b4b4b4 }
@media (max-width: 760px) { th, td:nth-child(2) { white-space: normal; width: auto } }
a.file { display: inline-block; margin: 2px 6px 2px 0; padding: 4px 9px; border: 1px solid #bbbbbb;
  border-radius: 4px;  color: #0b4f7d; text-decoration: none; font-size: 13px }
h1 { font-size: 20px; margin: 6px 0 2px 0 } h2 { font-size: 13px; margin: 8px 0 0 0; color: #444444 }
p { margin: 2px 0; font-size: 13px; color: #444444 }
label { font-size: 13px; line-height: 30px; white-space: nowrap }
pre { background: #f5f5f5; padding: 8px; font-size: 12px; overflow-x: auto; white-space: pre-wrap }
"""
