// -- hands ---------------------------------------------------------------------------------------

function zoomBy(how) {
  const factor = { in: 1.3, out: 1 / 1.3 }[how];
  if (state.view === "course") {
    courseZoom = factor ? Math.min(400, Math.max(1, courseZoom * factor)) : 1;
    showSheet();
  } else if (state.view === "graph") {
    const box = $("graph").getBoundingClientRect();
    if (factor) zoomTo(state.zoom * factor, box.width / 2, box.height / 2);
    else if (how === "fit") fit();
    else toTop();
  }
}

function changeTheme() {
  const root = document.documentElement;
  root.dataset.theme = getComputedStyle(root).colorScheme === "dark" ? "light" : "dark";
}

// The node to which an arrow leads from the chosen one: along an edge, or the nearest of the same row.
function neighbour(key) {
  const g = graph(), at = g.index.get(state.chosen);
  if (at === undefined) return g.nodes[0];
  if (key === "ArrowDown") return g.edges.filter((e) => e.from === at).map((e) => g.nodes[e.to])[0];
  if (key === "ArrowUp") return g.edges.filter((e) => e.to === at).map((e) => g.nodes[e.from])[0];
  const here = g.nodes[at], way = key === "ArrowRight" ? 1 : -1;
  return g.nodes.filter((n) => n.y === here.y && way * (n.x - here.x) > 0).sort((a, b) => way * (a.x - b.x))[0];
}

function pressed(event) {
  if (document.activeElement === $("search") || event.ctrlKey || event.metaKey || event.altKey) return;
  const view = { 1: "graph", 2: "course", 3: "roofline", 4: "compared" }[event.key];
  const zoom = { "+": "in", "-": "out", 0: "fit" }[event.key];
  if (event.key === "/") $("search").focus();
  else if (view) show(view);
  else if (zoom) zoomBy(zoom);
  else if (event.key === "t") changeTheme();
  else if (event.key === "Escape") chooseNothing();
  else if (event.key.startsWith("Arrow") && state.view === "graph") { const next = neighbour(event.key); if (next) choose(next.id, true); }
  else return;
  event.preventDefault();
}

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
  for (const button of document.querySelectorAll("[data-zoom]")) button.addEventListener("click", () => zoomBy(button.dataset.zoom));
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
  window.addEventListener("keydown", pressed);
  for (const tab of document.querySelectorAll("#views button")) tab.addEventListener("click", () => show(tab.dataset.view));
  for (const tab of document.querySelectorAll("#tabs button")) tab.addEventListener("click", () => { state.tab = tab.dataset.tab; showPanel(); });
  $("theme").addEventListener("click", changeTheme);
  window.addEventListener("resize", () => { place(); showSheet(); });
}

showHeader(); showLegend(); showGraph(); showPanel(); showSheet(); listen(); toTop();
const wanted = decodeURIComponent(location.hash.slice(1));
if (wanted && graph().index.has(wanted)) choose(wanted, true);
