"use strict";
// The page of `clinfer explain`: draws the graphs in `data`, whose coordinates are given, and tells about nodes.
const data = JSON.parse(document.getElementById("data").textContent);
const SVG = "http://www.w3.org/2000/svg";
const CARD = { width: 204, height: 80 };
const $ = (id) => document.getElementById(id);
const state = { graph: 0, trail: [], chosen: null, tab: "overview", query: "", x: 0, y: 0, zoom: 1 };
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
function heat(us) {
  const t = data.hottest_us && us ? Math.sqrt(us / data.hottest_us) : 0;
  return t < 0.7
    ? `color-mix(in oklab, var(--hot) ${Math.round(100 * (t / 0.7))}%, var(--card))`
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

// -- graph ---------------------------------------------------------------------------------------

function edgePath(points) {
  const ends = points.map(([x, y], i) => [x, y + (i === 0 ? CARD.height / 2 : i === points.length - 1 ? -CARD.height / 2 : 0)]);
  let path = `M${ends[0][0]},${ends[0][1]}`;
  for (let i = 1; i < ends.length; i++) {
    const [x0, y0] = ends[i - 1], [x1, y1] = ends[i], middle = (y0 + y1) / 2;
    path += `C${x0},${middle} ${x1},${middle} ${x1},${y1}`;
  }
  return path;
}

function card(n) {
  const left = n.x - CARD.width / 2, top = n.y - CARD.height / 2;
  const hot = data.hottest_us && n.us / data.hottest_us > 0.2;
  const text = (x, y, kind, value) => s("text", { x: left + x, y: top + y, class: kind }, value);
  return s("g", {
    class: `node ${n.kind}${n.is_output ? " output" : ""}${hot ? " hot" : ""}`, "data-id": n.id, tabindex: 0, role: "button",
    "aria-label": `${n.type} ${n.id}`,
    onclick: () => choose(n.id, false),
    onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(n.id, false); } },
  },
  s("title", {}, `${n.id}\n${n.work}${n.us === null ? "" : "\n" + duration(n.us)}`),
  s("rect", { class: "card", x: left, y: top, width: CARD.width, height: CARD.height, rx: 9, style: `fill: ${heat(n.us)}` }),
  text(12, 21, "type", cut(n.title, n.us > 0 ? 17 : 25)),
  n.us > 0 ? text(CARD.width - 12, 21, "time", duration(n.us)) : null,
  text(12, 38, "", cut(n.id, 27)),
  text(12, 54, "small", n.kind === "input" ? "" : cut(n.work, 31)),
  text(12, 70, "small", cut(n.shape, 32)));
}

function showGraph() {
  const g = graph();
  cards = new Map(g.nodes.map((n) => [n.id, card(n)]));
  const edges = g.edges.map((e) => s("path", { class: "edge", d: edgePath(e.points), "data-from": g.nodes[e.from].id, "data-to": g.nodes[e.to].id }));
  $("view").replaceChildren(...edges, ...cards.values());
  const back = state.trail.map((index, depth) => h("button", { type: "button", onclick: () => open(index, depth) }, "← " + data.graphs[index].name));
  $("path").replaceChildren(...back, back.length ? h("b", {}, g.name) : "");
  showTimeline();
  showMap();
}

function showMap() {
  const g = graph(), margin = CARD.width / 2 + 30;
  $("map").setAttribute("viewBox", `${-margin} ${-CARD.height} ${g.width + 2 * margin} ${g.height + 2 * CARD.height}`);
  $("map").replaceChildren(...g.nodes.map((n) => s("rect", {
    x: n.x - CARD.width / 2, y: n.y - CARD.height / 2, width: CARD.width, height: CARD.height, rx: 12,
    style: `fill: ${n.us > 0 ? heat(n.us) : "var(--line)"}; stroke: var(--edge); stroke-width: 4`,
  })), s("rect", { class: "window" }));
}

function place() {
  $("view").setAttribute("transform", `translate(${state.x},${state.y}) scale(${state.zoom})`);
  const box = $("graph").getBoundingClientRect(), shown = $("map").querySelector(".window");
  if (!shown) return;
  for (const [name, value] of Object.entries({
    x: -state.x / state.zoom, y: -state.y / state.zoom, width: box.width / state.zoom, height: box.height / state.zoom,
  })) shown.setAttribute(name, value);
}

function zoomTo(zoom, cx, cy) {
  const next = Math.min(2.5, Math.max(0.02, zoom)), ratio = next / state.zoom;
  Object.assign(state, { x: cx - (cx - state.x) * ratio, y: cy - (cy - state.y) * ratio, zoom: next });
  place();
}

function centre(x, y) {
  const box = $("graph").getBoundingClientRect();
  Object.assign(state, { x: box.width / 2 - x * state.zoom, y: box.height / 2 - y * state.zoom });
  place();
}

function fit() {
  const g = graph(), box = $("graph").getBoundingClientRect();
  const wide = g.width + CARD.width + 40, high = g.height + CARD.height + 40;
  state.zoom = Math.min(1.2, (box.width - 20) / wide, box.height / high);
  centre(g.width / 2, g.height / 2);
}

function toTop() {
  const g = graph(), box = $("graph").getBoundingClientRect();
  state.zoom = Math.min(1, Math.max(0.8, (box.width - 40) / (g.width + CARD.width + 40)));
  const first = g.nodes.find((n) => n.y === Math.min(...g.nodes.map((m) => m.y))) || { x: 0, y: 0 };
  centre(first.x, 0);
  state.y = (CARD.height / 2) * state.zoom + 24;
  place();
}

function open(index, depth) {
  Object.assign(state, { graph: index, trail: state.trail.slice(0, depth), chosen: null, tab: "overview" });
  showGraph(); search(); showPanel(); toTop();
}

// -- choosing and searching ----------------------------------------------------------------------

function choose(id, move) {
  state.chosen = id;
  state.tab = "details";
  for (const [other, element] of cards) element.classList.toggle("chosen", other === id);
  for (const edge of document.querySelectorAll(".edge")) edge.classList.toggle("near", edge.dataset.from === id || edge.dataset.to === id);
  for (const part of $("timeline").children) part.classList.toggle("chosen", part.dataset.id === id);
  const n = node(id);
  if (move) { state.zoom = Math.max(state.zoom, 0.7); centre(n.x, n.y); }
  if (state.graph === 0) history.replaceState(null, "", "#" + encodeURIComponent(id));
  showPanel();
}

const found = () => graph().nodes.filter((n) => n.text.includes(state.query));

function search() {
  state.query = $("search").value.trim().toLowerCase();
  const hits = new Set(found().map((n) => n.id));
  for (const [id, element] of cards) element.classList.toggle("dim", !hits.has(id));
  for (const edge of document.querySelectorAll(".edge")) edge.classList.toggle("dim", !(hits.has(edge.dataset.from) && hits.has(edge.dataset.to)));
  $("matches").textContent = state.query ? `${hits.size} of ${cards.size}` : "";
  if (state.tab === "layers") showPanel();
}

function nextMatch(step) {
  const hits = found();
  if (!state.query || !hits.length) return;
  const at = hits.findIndex((n) => n.id === state.chosen);
  choose(hits[(at + step + hits.length) % hits.length].id, true);
}

// -- panel ---------------------------------------------------------------------------------------

const section = (title, ...children) => [h("h3", {}, title), ...children];
const row = (name, ...value) => h("div", { class: "row" }, h("span", {}, name), h("span", {}, ...value));
const link = (id, text) => graph().index.has(id)
  ? h("button", { type: "button", class: "link", onclick: () => choose(id, true) }, text || id)
  : h("span", {}, text || id);

function bars(entries, total, onclick) {
  const most = Math.max(...entries.map((e) => e.us));
  return entries.map((e) => h("div", { class: "bar", title: e.title || "" },
    h("div", { class: "track" }, h("i", { style: `width: ${(100 * e.us) / most}%; background: ${heat(e.colour)}` }),
      h("span", {}, onclick ? h("button", { type: "button", class: "link", onclick: () => onclick(e) }, e.name) : e.name)),
    h("span", {}, `${duration(e.us)} · ${((100 * e.us) / total).toFixed(0)} %`)));
}

function byKey(key) {
  const sums = new Map();
  for (const n of graph().nodes) if (n.us > 0) {
    const e = sums.get(n[key]) || { name: n[key], us: 0, colour: 0, count: 0 };
    e.us += n.us; e.count += 1; e.colour = Math.max(e.colour, n.us);
    sums.set(n[key], e);
  }
  return [...sums.values()].sort((a, b) => b.us - a.us).map((e) => ({ ...e, title: `${e.count} primitives` }));
}

function overview() {
  const timed = graph().nodes.filter((n) => n.us > 0).sort((a, b) => b.us - a.us);
  const total = timed.reduce((sum, n) => sum + n.us, 0);
  const facts = data.summary.map(([name, value]) => row(name, value));
  if (!timed.length) return [h("h2", {}, "Overview"), ...facts];
  return [h("h2", {}, "Overview"), ...facts,
    ...section("Hottest primitives", ...bars(timed.slice(0, 8).map((n) => ({ name: n.id, us: n.us, colour: n.us, title: n.work })), total, (e) => choose(e.name, true))),
    ...section("By type", ...bars(byKey("type").slice(0, 12), total)),
    ...section("By kernel", ...bars(byKey("work").slice(0, 12), total))];
}

function kernels(n) {
  const blocks = n.kernels.map((k, i) => h("div", { class: "kernel" + (i ? "" : " first") },
    h("span", { class: "cost" }, k.cost), h("b", {}, k.name), k.name === n.ran && n.kernels.length > 1 ? [" ", h("span", { class: "badge kept" }, "ran")] : null,
    h("p", { class: "muted" }, i ? "stands in when the one before refuses the actual shapes" : n.why),
    ...k.sources.map((key) => h("details", {}, h("summary", {}, key.split("/").slice(-1)[0]), h("pre", {}, data.sources[key])))));
  const rejected = n.rejected.length
    ? section("Passed over", h("table", {}, ...n.rejected.map(([name, reason]) => h("tr", {}, h("td", { class: "mono" }, name), h("td", {}, reason)))))
    : [];
  return [...(blocks.length ? section("Kernel", ...blocks) : []), ...rejected];
}

function details() {
  if (state.chosen === null || !graph().index.has(state.chosen)) return [h("p", { class: "muted" }, "Click a node of the graph, a bar above it, or a layer in the list.")];
  const n = node(state.chosen);
  const readers = graph().edges.filter((e) => graph().nodes[e.from].id === n.id).map((e) => graph().nodes[e.to]);
  const kinds = { kernel: "computed on the device", host: "computed on the host with NumPy", view: "no work: another view of its input's memory", input: "given by the caller", body: "runs one of its bodies", call: "computed on the host, from data that is read from the device" };
  return [
    h("h2", { id: "chosen" }, n.id), h("p", { class: "muted" }, `${n.type}, ${kinds[n.kind]}`),
    n.us === null ? null : row("device time", `${duration(n.us)}${n.us ? ", " + share(n.us) : ""}`),
    n.ran_shapes.length ? row("ran for", h("span", { class: "mono" }, n.ran_shapes.join(" "))) : null,
    n.host_us === null ? null : row("host time", duration(n.host_us)),
    n.layer && n.layer !== n.id ? row("layer", n.layer) : null, row("segment", String(n.segment)),
    ...kernels(n),
    ...(n.inputs.length ? section("Reads", ...n.inputs.map((i) => row(i.is_constant ? "constant" : "input", link(i.primitive), h("div", { class: "mono muted" }, i.layout)))) : []),
    ...section("Gives", ...n.outputs.map((layout) => h("p", { class: "mono" }, layout)), ...readers.map((r) => row("to", link(r.id)))),
    ...(n.joined.length ? section("Layers of the model in it", ...n.joined.map((text) => h("p", {}, text))) : []),
    ...(n.attributes.length ? section("Attributes", ...n.attributes.map(([name, value]) => row(name, h("span", { class: "mono" }, value || "–")))) : []),
    ...(n.bodies.length ? section("Bodies", ...n.bodies.map((index) => h("p", {}, h("button", { type: "button", class: "link", onclick: () => { state.trail.push(state.graph); open(index, state.trail.length); } }, data.graphs[index].name)))) : []),
  ];
}

function layers() {
  const shown = data.layers.filter((l) => !state.query || `${l.layer}\n${l.type}\n${l.fate}\n${l.into}`.toLowerCase().includes(state.query));
  return [h("h2", {}, "Layers of the model"), h("p", { class: "muted" }, `${shown.length} of ${data.layers.length}; what became of each`),
    h("table", {}, h("tr", {}, h("th", {}, "layer"), h("th", {}, "became")),
      ...shown.map((l) => h("tr", {}, h("td", {}, l.layer, h("div", { class: "muted" }, l.type)),
        h("td", {}, h("span", { class: "badge " + l.fate }, l.fate), " ", l.into ? h("button", { type: "button", class: "link", onclick: () => { if (state.graph) open(0, 0); choose(l.into, true); } }, l.into) : "",
          l.by ? h("div", { class: "muted" }, "by " + l.by) : null))))];
}

function showPanel() {
  for (const tab of document.querySelectorAll("nav button")) tab.setAttribute("aria-selected", String(tab.dataset.tab === state.tab));
  $("panel").replaceChildren(...{ overview, details, layers }[state.tab]().filter((child) => child !== null));
  $("panel").scrollTop = 0;
}

// -- hands ---------------------------------------------------------------------------------------

function listen() {
  const stage = $("graph");
  let grip = null;
  stage.addEventListener("pointerdown", (event) => { grip = { x: event.clientX, y: event.clientY, moved: false }; });
  window.addEventListener("pointermove", (event) => {
    if (!grip || !event.buttons) { grip = null; return; }
    const dx = event.clientX - grip.x, dy = event.clientY - grip.y;
    if (!grip.moved && Math.hypot(dx, dy) < 4) return;
    grip = { x: event.clientX, y: event.clientY, moved: true };
    stage.classList.add("moving");
    state.x += dx; state.y += dy;
    place();
  });
  window.addEventListener("pointerup", () => { stage.classList.remove("moving"); });
  stage.addEventListener("click", (event) => { if (grip && grip.moved) { event.stopPropagation(); } grip = null; }, true);
  stage.addEventListener("wheel", (event) => {
    event.preventDefault();
    const box = stage.getBoundingClientRect();
    if (event.ctrlKey || event.metaKey || !event.shiftKey && Math.abs(event.deltaY) > Math.abs(event.deltaX)) {
      zoomTo(state.zoom * Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0015)), event.clientX - box.left, event.clientY - box.top);
    } else { state.x -= event.deltaX || event.deltaY; place(); }
  }, { passive: false });
  for (const button of document.querySelectorAll("[data-zoom]")) button.addEventListener("click", () => {
    const box = stage.getBoundingClientRect(), factor = { in: 1.3, out: 1 / 1.3 }[button.dataset.zoom];
    if (factor) zoomTo(state.zoom * factor, box.width / 2, box.height / 2);
    else if (button.dataset.zoom === "fit") fit();
    else toTop();
  });
  const jump = (event) => {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform($("map").getScreenCTM().inverse());
    centre(at.x, at.y);
  };
  $("map").addEventListener("pointerdown", jump);
  $("map").addEventListener("pointermove", (event) => { if (event.buttons) jump(event); });
  $("search").addEventListener("input", search);
  $("search").addEventListener("keydown", (event) => {
    if (event.key === "Enter") nextMatch(event.shiftKey ? -1 : 1);
    if (event.key === "Escape") { $("search").value = ""; search(); $("search").blur(); }
  });
  window.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== $("search")) { event.preventDefault(); $("search").focus(); }
  });
  for (const tab of document.querySelectorAll("nav button")) tab.addEventListener("click", () => { state.tab = tab.dataset.tab; showPanel(); });
  $("theme").addEventListener("click", () => {
    const root = document.documentElement, dark = getComputedStyle(root).colorScheme === "dark";
    root.dataset.theme = dark ? "light" : "dark";
  });
  window.addEventListener("resize", place);
}

showHeader(); showLegend(); showGraph(); showPanel(); listen(); toTop();
const wanted = decodeURIComponent(location.hash.slice(1));
if (wanted && graph().index.has(wanted)) choose(wanted, true);
