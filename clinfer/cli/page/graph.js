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

// Where the sizes of what flows along an edge are written: between its last two points.
function middle(points) {
  const [x0, y0] = points[points.length - 2], [x1, y1] = points[points.length - 1];
  return { x: (x0 + x1) / 2, y: (y0 + y1) / 2 + 4 };
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
  const sizes = g.edges.map((e) => s("text", { class: "size", ...middle(e.points) }, cut(e.sizes, 30)));
  $("view").replaceChildren(...edges, ...sizes, ...cards.values());
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
  $("view").classList.toggle("far", state.zoom < 0.55);
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
  for (const part of document.querySelectorAll("#timeline div, #sheet [data-id]")) part.classList.toggle("chosen", part.dataset.id === id);
  const n = node(id);
  if (move) { state.zoom = Math.max(state.zoom, 0.7); centre(n.x, n.y); }
  if (state.graph === 0) history.replaceState(null, "", "#" + encodeURIComponent(id));
  showPanel();
}

function chooseNothing() {
  Object.assign(state, { chosen: null, tab: "overview" });
  for (const part of document.querySelectorAll(".chosen, .near")) part.classList.remove("chosen", "near");
  history.replaceState(null, "", "#");
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
  showSheet();
}

function nextMatch(step) {
  const hits = found();
  if (!state.query || !hits.length) return;
  const at = hits.findIndex((n) => n.id === state.chosen);
  choose(hits[(at + step + hits.length) % hits.length].id, true);
}

