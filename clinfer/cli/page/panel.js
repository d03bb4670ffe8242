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

const KEYS = [["/", "search; Enter: the next match"], ["1 2 3 4", "graph, timeline, roofline, compared"], ["↑ ↓ ← →", "along the edges and rows of the graph"],
  ["+ − 0", "closer, further, the whole"], ["t", "light or dark"], ["Esc", "choose nothing"]];
const keys = () => section("Keys", ...KEYS.map(([key, what]) => row(key, what)));

function overview() {
  const timed = graph().nodes.filter((n) => n.us > 0).sort((a, b) => b.us - a.us);
  const total = timed.reduce((sum, n) => sum + n.us, 0);
  const facts = data.summary.map(([name, value]) => row(name, value));
  if (!timed.length) return [h("h2", {}, "Overview"), ...facts, ...keys()];
  return [h("h2", {}, "Overview"), ...facts,
    ...section("Hottest primitives", ...bars(timed.slice(0, 8).map((n) => ({ name: n.id, us: n.us, colour: n.us, title: n.work })), total, (e) => choose(e.name, true))),
    ...section("By type", ...bars(byKey("type").slice(0, 12), total)),
    ...section("By kernel", ...bars(byKey("work").slice(0, 12), total)), ...keys()];
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
    n.gbytes ? row("reached", `${n.gflops ? number(n.gflops) + " GFLOP/s, " : ""}${number(n.gbytes)} GB/s${n.of_peak === null ? "" : ", " + (100 * n.of_peak).toFixed(0) + " % of peak"}`) : null,
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
  for (const tab of document.querySelectorAll("#tabs button")) tab.setAttribute("aria-selected", String(tab.dataset.tab === state.tab));
  $("panel").replaceChildren(...{ overview, details, layers }[state.tab]().filter((child) => child !== null));
  $("panel").scrollTop = 0;
}

// The view besides the graph, if one is shown.
function showSheet() {
  for (const tab of document.querySelectorAll("#views button")) {
    tab.setAttribute("aria-selected", String(tab.dataset.view === state.view));
    tab.hidden = tab.dataset.view === "compared" && !data.comparisons.length;
  }
  $("sheet").hidden = state.view === "graph";
  $("stage").classList.toggle("covered", state.view !== "graph");
  if (state.view !== "graph") $("sheet").replaceChildren(...{ course, roofline, compared }[state.view]().filter((child) => child !== null));
}

function show(view) {
  if (view === "compared" && !data.comparisons.length) return;
  state.view = view;
  showSheet();
  if (view === "graph") place();
}

