
// -- the roofline ----------------------------------------------------------------------------------

const ROOF = { width: 760, height: 430, left: 62, right: 16, top: 16, bottom: 44 };
const number = (value) => (value === null ? "–" : value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toPrecision(2));

// Powers of ten around all values.
const decades = (values) => [Math.floor(Math.log10(Math.min(...values))), Math.ceil(Math.log10(Math.max(...values)))];

function ceilings() {
  const c = data.ceilings;
  const flat = [["f32", c.f32], ["f16", c.f16], ["bf16 products", c.bf16], ["matrix instructions", c.tensor]].filter(([, rate]) => rate > 0);
  return { flat, slanted: [["memory", c.memory], ["cache", c.cache]] };
}

function roofDrawing(timed) {
  const { flat, slanted } = ceilings(), most = Math.max(...flat.map(([, rate]) => rate));
  const [x0, x1] = decades([...timed.map((n) => n.flops / n.bytes), most / data.ceilings.memory, 1]);
  const [y0, y1] = decades([...timed.map((n) => n.gflops), most]);
  const x = (value) => ROOF.left + ((Math.log10(value) - x0) / (x1 - x0)) * (ROOF.width - ROOF.left - ROOF.right);
  const y = (value) => ROOF.height - ROOF.bottom - ((Math.log10(value) - y0) / (y1 - y0)) * (ROOF.height - ROOF.top - ROOF.bottom);
  const parts = [], low = 10 ** x0, high = 10 ** x1;
  for (let p = x0; p <= x1; p++) parts.push(s("line", { class: "grid", x1: x(10 ** p), x2: x(10 ** p), y1: y(10 ** y0), y2: y(10 ** y1) }), s("text", { class: "tick", x: x(10 ** p), y: ROOF.height - 26 }, String(+(10 ** p).toPrecision(1))));
  for (let p = y0; p <= y1; p++) parts.push(s("line", { class: "grid", x1: x(low), x2: x(high), y1: y(10 ** p), y2: y(10 ** p) }), s("text", { class: "tick end", x: ROOF.left - 8, y: y(10 ** p) + 4 }, String(+(10 ** p).toPrecision(1))));
  parts.push(s("text", { class: "tick", x: (x(low) + x(high)) / 2, y: ROOF.height - 8 }, "FLOP per byte"), s("text", { class: "tick", transform: `translate(14 ${(ROOF.height - ROOF.bottom) / 2}) rotate(-90)` }, "GFLOP/s"));
  for (const [name, rate] of flat) parts.push(s("line", { class: "roof", x1: x(Math.max(low, rate / data.ceilings.cache)), x2: x(high), y1: y(rate), y2: y(rate) }), s("text", { class: "roofname", x: x(high) - 4, y: y(rate) - 5 }, `${name} ${number(rate)} GFLOP/s`));
  for (const [name, rate] of slanted) {
    const from = Math.max(low, 10 ** y0 / rate), to = Math.min(high, most / rate);
    if (to <= from) continue;
    const angle = (Math.atan2(y(from * rate) - y(to * rate), x(to) - x(from)) * 180) / Math.PI, at = from * (to / from) ** 0.3;
    parts.push(s("line", { class: "roof", x1: x(from), y1: y(from * rate), x2: x(to), y2: y(to * rate) }),
      s("text", { class: "roofname start", transform: `translate(${x(at)} ${y(at * rate) - 6}) rotate(${-angle})` }, `${name} ${number(rate)} GB/s`));
  }
  for (const n of [...timed].sort((a, b) => b.us - a.us)) parts.push(s("circle", {
    class: `dot${n.id === state.chosen ? " chosen" : ""}${n.text.includes(state.query) ? "" : " dim"}`, cx: x(n.flops / n.bytes), cy: y(n.gflops), r: 4 + 14 * Math.sqrt(n.us / data.hottest_us), "data-id": n.id,
    tabindex: 0, role: "button", "aria-label": n.id, style: `fill: ${heat(n.us)}`, onclick: () => choose(n.id, false),
    onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(n.id, false); } },
  }, s("title", {}, `${n.id}\n${n.ran}\n${duration(n.us)}, ${number(n.gflops)} GFLOP/s, ${number(n.gbytes)} GB/s`)));
  return s("svg", { id: "roofline", viewBox: `0 0 ${ROOF.width} ${ROOF.height}`, role: "img", "aria-label": "Roofline" }, ...parts);
}

function rates(timed) {
  return h("table", { class: "figures" }, h("tr", {}, ...["primitive", "time", "GFLOP/s", "GB/s", "of peak"].map((name) => h("th", {}, name))),
    ...timed.filter((n) => n.text.includes(state.query)).map((n) => h("tr", {}, h("td", {}, link(n.id)), h("td", {}, duration(n.us)), h("td", {}, number(n.gflops)), h("td", {}, number(n.gbytes)),
      h("td", {}, n.of_peak === null ? "–" : (100 * n.of_peak).toFixed(0) + " %"))));
}

function roofline() {
  const timed = graph().nodes.filter((n) => n.us > 0 && n.gbytes).sort((a, b) => b.us - a.us);
  if (!timed.length) return [h("h2", {}, "Roofline"), h("p", { class: "muted" }, "Nothing was timed.")];
  const reckoned = timed.filter((n) => n.gflops);
  return [h("h2", {}, "Roofline"),
    h("p", { class: "muted" }, "What each primitive reached, under what the device was measured to reach. The larger the circle, the longer it took. Bytes are those of its tensors, each once; primitives without products stand in the table alone."),
    reckoned.length ? h("div", { class: "scroll" }, roofDrawing(reckoned)) : null, rates(timed)];
}
