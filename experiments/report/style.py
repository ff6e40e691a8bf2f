"""How the page looks, by day and by night."""

from typing import Final

CSS: Final = """
:root { color-scheme: light dark; --text: #1d2025; --soft: #5b626c; --page: #ffffff;
  --card: #f6f7f9; --line: #dfe3e8; --link: #0b63b0;
  --holds: #11683b; --holds-bg: #e0f3e7; --part: #7a5200; --part-bg: #fdf0cf;
  --fails: #a11622; --fails-bg: #fde4e4; --open: #4d5560; --open-bg: #eceff2; }
@media (prefers-color-scheme: dark) { :root { --text: #e5e8ec; --soft: #a3abb6; --page: #15181c;
  --card: #1d2126; --line: #343a42; --link: #7dbcf5;
  --holds: #8fe0b2; --holds-bg: #133524; --part: #f3cd77; --part-bg: #3b2f0e;
  --fails: #ffa8a8; --fails-bg: #431a1d; --open: #bcc4ce; --open-bg: #2a2f36; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 62rem; color: var(--text);
  background: var(--page); font: 16px/1.55 system-ui, -apple-system, "Segoe UI", sans-serif; }
h1 { font-size: 1.8rem; line-height: 1.2; margin: 0 0 .5rem; }
h2 { font-size: 1.3rem; margin: 3rem 0 .75rem; padding-top: .75rem;
  border-top: 1px solid var(--line); }
h3 { font-size: 1.05rem; margin: 1.75rem 0 .5rem; }
a { color: var(--link); }
p { max-width: 48rem; }
.lead { font-size: 1.08rem; }
.soft, figcaption, caption { color: var(--soft); font-size: .9rem; }
.quick { background: var(--fails-bg); color: var(--fails); padding: .6rem .9rem;
  border-radius: 6px; font-weight: 600; }
nav ul { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; list-style: none; padding: 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .45rem .7rem;
  border-bottom: 1px solid var(--line); }
thead th { border-bottom: 2px solid var(--line); white-space: nowrap; }
table.numbers :is(th, td):not(:first-child) { text-align: right; white-space: nowrap;
  font-variant-numeric: tabular-nums; }
td small { color: var(--soft); }
caption { text-align: left; caption-side: bottom; padding-top: .4rem; }
tr.ours { background: var(--card); }
table ul { margin: 0; padding: 0; list-style: none; }
table li { margin: 0 0 .3rem; }
table.claims td:nth-child(1) { width: 31%; } table.claims td:nth-child(2) { width: 8.5rem; }
.verdict { display: inline-block; padding: .1rem .55rem; border-radius: 1rem; font-weight: 600;
  font-size: .85rem; white-space: nowrap; }
.holds { color: var(--holds); background: var(--holds-bg); }
.part { color: var(--part); background: var(--part-bg); }
.fails { color: var(--fails); background: var(--fails-bg); }
.open { color: var(--open); background: var(--open-bg); }
li .verdict { font-size: .75rem; padding: 0 .45rem; margin-right: .35rem; }
.count { margin-right: .5rem; }
figure { margin: 1.5rem 0 2.5rem; }
figure img { display: block; width: 100%; height: auto; background: #ffffff; border-radius: 8px;
  border: 1px solid var(--line); padding: .5rem; }
figcaption { margin-top: .5rem; max-width: 48rem; }
figcaption b { color: var(--text); }
details { border: 1px solid var(--line); border-radius: 8px; margin: .75rem 0;
  padding: .2rem 1rem; }
summary { cursor: pointer; font-weight: 600; padding: .5rem 0; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1.2rem; font-size: .9rem; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
@media (max-width: 40rem) { table.claims, table.claims tbody, table.claims tr, table.claims td {
  display: block; width: auto !important; } table.claims thead { display: none; }
  table.claims td { border: 0; padding: .25rem 0; }
  table.claims tr { border-bottom: 1px solid var(--line); padding: .6rem 0; } }
@media print { body { max-width: none; } details { break-inside: avoid; } }
""".strip()
