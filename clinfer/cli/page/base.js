"use strict";
// The page of `clinfer explain`: draws the graphs in `data`, whose coordinates are given, and tells about nodes.
const data = JSON.parse(document.getElementById("data").textContent);
const SVG = "http://www.w3.org/2000/svg";
const CARD = { width: 204, height: 80 };
const $ = (id) => document.getElementById(id);
const state = { graph: 0, trail: [], chosen: null, tab: "overview", view: "graph", query: "", x: 0, y: 0, zoom: 1 };
let cards = new Map();

// -- building blocks -----------------------------------------------------------------------------

function make(space, tag, attributes, children) {
  const element = space ? document.createElementNS(space, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.flat(2).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}
const h = (tag, attributes, ...children) => make(null, tag, attributes, children);
const s = (tag, attributes, ...children) => make(SVG, tag, attributes, children);
const cut = (text, length) => (text.length > length ? text.slice(0, length - 1) + "…" : text);
const graph = () => data.graphs[state.graph];
const node = (id) => graph().nodes[graph().index.get(id)];

function duration(us) {
  if (us === null) return "–";
  return us >= 1e4 ? (us / 1e3).toFixed(1) + " ms" : us >= 1e3 ? (us / 1e3).toFixed(2) + " ms" : us.toFixed(us < 10 ? 1 : 0) + " µs";
}
const share = (us) => (data.total_us ? ((100 * us) / data.total_us).toFixed(1) + " %" : "");

// From no colour over orange to red: half of the hottest node's time is a third of the way.
function heat(us, cold = "var(--card)") {
  const t = data.hottest_us && us ? Math.sqrt(us / data.hottest_us) : 0;
  return t < 0.7
    ? `color-mix(in oklab, var(--hot) ${Math.round(100 * (t / 0.7))}%, ${cold})`
    : `color-mix(in oklab, var(--hotter) ${Math.round(100 * ((t - 0.7) / 0.3) * 0.8)}%, var(--hot))`;
}

for (const each of data.graphs) {
  each.index = new Map(each.nodes.map((n, i) => [n.id, i]));
  for (const n of each.nodes) {
    n.text = [n.id, n.type, n.kind, n.work, ...n.joined, ...n.outputs].join("\n").toLowerCase();
  }
}

// -- header --------------------------------------------------------------------------------------

function showHeader() {
  document.querySelector("h1").textContent = data.name;
  $("subject").textContent = `on ${data.device} (${data.device_name}), computing in ${data.precision}`;
  $("chips").replaceChildren(...data.chips.map(([value, what]) => h("div", { class: "chip" }, h("b", {}, value), h("span", {}, what))));
}

function showTimeline() {
  const timed = graph().nodes.filter((n) => n.us > 0);
  const total = timed.reduce((sum, n) => sum + n.us, 0);
  $("timeline").replaceChildren(...timed.map((n) => h("div", {
    style: `flex: ${n.us / total} 1 0; background: ${heat(n.us)}`, "data-id": n.id,
    title: `${n.id}\n${n.work}\n${duration(n.us)}, ${share(n.us)}`, onclick: () => choose(n.id, true),
  }, n.us / total > 0.045 ? h("span", {}, n.title) : null)));
}

function showLegend() {
  const scale = [0, 0.1, 0.25, 0.5, 0.75, 1].map((t) => heat(t * data.hottest_us));
  const hot = data.hottest_us
    ? [h("span", {}, "0"), h("i", { style: `background: linear-gradient(90deg, ${scale.join(", ")})` }), h("span", {}, duration(data.hottest_us))]
    : [h("span", {}, "not timed")];
  $("legend").replaceChildren(...hot, h("s"), h("span", {}, "no kernel: on the host, or another view of the same memory"));
}

