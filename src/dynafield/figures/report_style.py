"""How the report looks: light and dark, wide and narrow."""

__all__ = ["STYLE"]

STYLE = """
:root { color-scheme: light dark; --back: #fff; --text: #1f2328; --soft: #5c6670; --line: #dfe3e8;
  --group: #f2f5f8; --good: #0b6b3a; --bad: #b3261e; --bad-back: #fdecea; --link: #0b57a4; --code: #f1f3f5; }
@media (prefers-color-scheme: dark) { :root { --back: #14171a; --text: #e6e8ea; --soft: #a0a8b0;
  --line: #333a41; --group: #1e2429; --good: #6fcf97; --bad: #ff9b92; --bad-back: #3a1c1a; --link: #7db7f5;
  --code: #262c32; } }
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--text); background: var(--back);
  max-width: 1500px; margin: 0 auto; padding: 2em 24px 4em; overflow-wrap: break-word; }
a { color: var(--link); }
h1 { font-size: 1.7em; line-height: 1.25; margin: .1em 0 .2em; max-width: 34em; }
h2 { font-size: 1.3em; margin: 2.2em 0 .6em; } h3 { font-size: 1.05em; margin-bottom: .4em; }
.kicker { margin: 0; color: var(--soft); } .authors { margin: 0 0 1.2em; font-size: 1.1em; }
.reading, body > p.quiet { max-width: 72em; }
.quiet { color: var(--soft); font-size: 13px; font-weight: 400; }
code { background: var(--code); padding: 0 3px; border-radius: 3px; font-size: .95em; }
.tiles { display: flex; flex-wrap: wrap; gap: 14px; margin: 1.4em 0; }
.tile { flex: 1 1 240px; border: 1px solid var(--line); border-radius: 8px; padding: 12px 16px;
  color: var(--text); text-decoration: none; }
.tile:hover { border-color: var(--link); }
.tile b { display: block; font-size: 1.6em; } .tile .quiet { display: block; }
table { border-collapse: collapse; width: 100%; font-size: 13px; line-height: 1.4; table-layout: fixed; }
th, td { text-align: left; vertical-align: top; padding: 6px 9px; border-bottom: 1px solid var(--line); }
thead th { border-bottom: 2px solid var(--soft); position: sticky; top: 0; background: var(--back); }
tr.group th { background: var(--group); font-weight: 600; font-size: 14px; padding: 8px 9px; }
.c-verdict { width: 6.5em; } .c-fails { width: 10%; } .c-claim, .c-corrected { width: 19%; }
table.printed .c-correct { width: 17%; }
.where, .said, .judged { display: block; } .said { font-weight: 400; font-size: 13px; }
.judged { color: var(--soft); margin-top: 4px; }
.badge { border: 1px solid var(--soft); border-radius: 9px; padding: 0 7px; font-size: 12px; font-weight: 400;
  white-space: nowrap; }
tr.holds td.verdict { color: var(--good); font-weight: 600; }
tr.fails td.verdict { color: var(--bad); font-weight: 700; }
table.unexpected tr { background: var(--bad-back); }
figure { margin: 1.8em 0; max-width: 1100px; } figure h3 { margin-top: 0; }
figure img { max-width: 100%; height: auto; background: #fff; border-radius: 4px; }
figcaption { font-size: 14px; color: var(--soft); }
.broken { border: 2px solid var(--bad); color: var(--bad); padding: 0 1em; border-radius: 8px; }
@media (max-width: 900px) {
  body { padding: 1.2em 14px 3em; } h1 { font-size: 1.35em; }
  table, tbody, tr, td, tr.group th { display: block; width: auto; }
  thead { display: none; }
  tr.holds, tr.fails, table.notation tr { border: 1px solid var(--line); border-radius: 8px; margin: 10px 0;
    padding: 4px 0; }
  tr.group th { border: 0; border-radius: 6px; margin-top: 18px; }
  td { border: 0; padding: 3px 10px; }
  td::before { content: attr(data-label); display: block; color: var(--soft); font-size: 12px; }
  td:first-child { font-size: 14px; } td:first-child::before { display: none; }
}
"""
"""The style sheet of the page."""
