"""How the page of a report looks: light or dark as the reader's system is, from 400 pixels up."""

# Okabe and Ito's colours, which people with any colour vision tell apart; those that fade on a dark ground are lighter
# there. The last one is for everything together.
STYLE = """
:root { color-scheme: light dark; --ground: #fff; --ink: #1d2329; --soft: #5c6670; --rule: #d9dee3; --tile: #f4f6f8;
  --c0: #0072b2; --c1: #e69f00; --c2: #009e73; --c3: #d55e00; --c4: #56b4e9; --c5: #cc79a7; --c6: #8a8f94; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #14181c; --ink: #e6e9ec; --soft: #9aa4ae; --rule: #343b42; --tile: #1d2329;
    --c0: #3f9fdc; --c2: #1fbf92; --c3: #f07a26; --c4: #9ad7f7; --c5: #dd97bd; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 24px 20px 48px; max-width: 1120px; background: var(--ground); color: var(--ink);
  font: 15px/1.45 system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
h1 { font-size: 22px; line-height: 1.25; margin: 0 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 17px; margin: 0; }
h3 { font-size: 15px; margin: 0 0 6px; overflow-wrap: anywhere; }
p { margin: 2px 0 0; color: var(--soft); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(220px, 46%), 1fr)); gap: 10px;
  margin: 20px 0 8px; padding: 0; list-style: none; }
.tiles li { background: var(--tile); border-radius: 8px; padding: 10px 14px; }
.tiles b { display: block; font-size: 21px; font-variant-numeric: tabular-nums; }
.tiles span { display: block; color: var(--soft); font-size: 13px; }
figure, section { margin: 44px 0 0; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 18px; margin: 8px 0 0; padding: 0; list-style: none;
  font-size: 13px; }
.legend li { display: flex; align-items: center; gap: 7px; overflow-wrap: anywhere; }
.legend i { flex: none; width: 22px; height: 0; border-top: 2.5px solid var(--own); }
.legend i.dashed { border-top-style: dashed; }
.legend i.box { width: 13px; height: 13px; border: 0; background: var(--own); border-radius: 2px; }
.unit { color: var(--soft); font-size: 12px; margin-top: 8px; }
.plot { position: relative; margin: 6px 14px 24px 44px; height: 260px; }
.plot svg { display: block; width: 100%; height: 100%; overflow: visible; }
.plot .y span { position: absolute; right: 100%; margin-right: 8px; transform: translateY(-50%); }
.plot .x span { position: absolute; top: 100%; margin-top: 5px; transform: translateX(-50%); }
.plot .x span, .plot .y span { color: var(--soft); font-size: 12px; white-space: nowrap;
  font-variant-numeric: tabular-nums; }
.grid { stroke: var(--rule); stroke-width: 1; fill: none; vector-effect: non-scaling-stroke; }
.area { fill-opacity: .82; stroke: var(--ground); stroke-width: .6; vector-effect: non-scaling-stroke; }
.line { fill: none; stroke-width: 2; vector-effect: non-scaling-stroke; stroke-linejoin: round; }
.line.dashed { stroke-dasharray: 6 4; }
.panels { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(440px, 100%), 1fr)); gap: 22px 40px;
  margin-top: 16px; }
.panel dl { display: grid; grid-template-columns: fit-content(40%) 1fr; gap: 7px 12px; margin: 0; font-size: 13px; }
.panel dt { overflow-wrap: anywhere; }
.panel dd { margin: 0; min-width: 0; }
.panel dd > span { display: block; color: var(--soft); font-variant-numeric: tabular-nums; }
.panel .track { position: relative; display: flex; height: 16px; background: var(--tile); border-radius: 3px; }
.track i { background: var(--own); height: 100%; border-radius: 3px; }
.track i.more { opacity: .45; }
.track b { position: absolute; top: -2px; bottom: -2px; width: 2px; margin-left: -1px; background: var(--ink); }
.domains, .domain .domains { display: flex; flex-wrap: wrap; gap: 10px; }
.domains { margin-top: 14px; }
.domain { border: 1px solid var(--rule); border-radius: 6px; padding: 5px 7px 7px; display: flex; flex-wrap: wrap;
  gap: 6px; align-content: flex-start; max-width: 100%; }
.domain > b { flex-basis: 100%; font-size: 11px; font-weight: 600; color: var(--soft); overflow-wrap: anywhere; }
.nodes { display: flex; flex-direction: column; gap: 3px; }
.node { display: flex; gap: 1px; width: calc(var(--size) * 10px); min-width: 20px; height: 10px; }
.node i { background: var(--own); border-radius: 1px; }
.node i.free { background: none; box-shadow: inset 0 0 0 1px var(--rule); }
.node.down { background: repeating-linear-gradient(45deg, var(--rule) 0 3px, transparent 3px 6px); width: 80px; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin-top: 10px; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: 5px 10px; text-align: right; border-bottom: 1px solid var(--rule); white-space: nowrap; }
th { color: var(--soft); font-weight: 600; font-size: 13px; }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
.names2 :is(th, td):nth-child(2) { text-align: left; }
td.text { white-space: normal; text-align: left; overflow-wrap: anywhere; }
@media (max-width: 640px) {
  body { padding: 16px 12px 32px; } .plot { height: 200px; } .plot .x .odd { display: none; } }
"""
