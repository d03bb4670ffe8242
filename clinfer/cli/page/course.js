
// -- the course of the last inference --------------------------------------------------------------

const LANES = [
  ["host", "plan", "planning"], ["host", "memory", "growing memory"], ["host", "host operation", "operations"],
  ["host", "transfer", "giving transfers"], ["host", "launch", "giving launches"], ["host", "wait", "waiting"],
  ["device", "transfer", "transfers"], ["device", "kernel", "kernels"],
];
const COURSE = { left: 132, row: 26, top: 30, right: 20 };
let courseZoom = 1;

const courseLength = () => Math.max(...data.spans.map(([, , , , end]) => end));

// A round step of the axis, in microseconds, so that its ticks are some 80 pixels apart.
function axisStep(length, width) {
  const rough = (80 * length) / width, power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].find((n) => n * power >= rough) * power;
}

function courseDrawing() {
  const room = $("sheet").clientWidth - 80 - COURSE.left - COURSE.right, length = courseLength();
  const lanes = LANES.filter(([lane, kind]) => data.spans.some(([l, k]) => l === lane && k === kind));
  const width = Math.max(200, room) * courseZoom, scale = width / length;
  const high = COURSE.top + lanes.length * COURSE.row + 10, step = axisStep(length, width), parts = [];
  for (let at = 0; at <= length; at += step) {
    const x = COURSE.left + at * scale;
    parts.push(s("line", { class: "grid", x1: x, x2: x, y1: COURSE.top - 8, y2: high }), s("text", { class: "tick", x, y: 14 }, at ? duration(at) : "0"));
  }
  lanes.forEach(([lane, kind, name], i) => {
    const y = COURSE.top + i * COURSE.row;
    parts.push(s("text", { class: "lane", x: 4, y: y + 16 }, `${lane}: ${name}`));
    for (const [l, k, what, start, end] of data.spans) if (l === lane && k === kind) {
      const known = data.graphs[0].index.has(what);
      parts.push(s("rect", {
        class: `span ${lane} ${kind.replace(" ", "-")}${what === state.chosen ? " chosen" : ""}`, x: COURSE.left + start * scale, y: y + 3,
        width: Math.max(1, (end - start) * scale), height: COURSE.row - 6, rx: 2, "data-id": known ? what : null,
        style: lane === "device" && known ? `fill: ${heat(data.graphs[0].nodes[data.graphs[0].index.get(what)].us, "var(--accent)")}` : null,
        onclick: known ? () => { if (state.graph) open(0, 0); choose(what, false); } : null,
      }, s("title", {}, `${kind}: ${what}\n${duration(end - start)}, from ${duration(start)}`)));
    }
  });
  return s("svg", { id: "course", width: COURSE.left + width + COURSE.right, height: high, role: "img", "aria-label": "Host and device over time" }, ...parts);
}

// The part of the time in which the device does something.
function busy() {
  let end = 0, sum = 0;
  for (const [lane, , , from, to] of data.spans) if (lane === "device") {
    sum += Math.max(0, to - Math.max(from, end));
    end = Math.max(end, to);
  }
  return sum;
}

function courseTable() {
  const length = courseLength();
  const rows = LANES.map(([lane, kind, name]) => {
    const of = data.spans.filter(([l, k]) => l === lane && k === kind);
    return [`${lane}: ${name}`, of.length, of.reduce((sum, [, , , start, end]) => sum + end - start, 0)];
  }).filter(([, count]) => count);
  rows.push(["device: busy with anything", "", busy()]);
  return h("table", { class: "figures" }, h("tr", {}, ...["what", "how often", "time", "of the whole"].map((name) => h("th", {}, name))),
    ...rows.map(([name, count, us]) => h("tr", {}, h("td", {}, name), h("td", {}, String(count)), h("td", {}, duration(us)), h("td", {}, ((100 * us) / length).toFixed(1) + " %"))));
}

function course() {
  if (!data.spans.length) return [h("h2", {}, "Timeline"), h("p", { class: "muted" }, "Nothing was timed.")];
  return [h("h2", {}, "Timeline of the last inference"),
    h("p", { class: "muted" }, `${duration(courseLength())} from the first call to the end of the wait, measured with profiling. The device's clock is laid over the host's.`),
    h("div", { class: "scroll" }, courseDrawing()), courseTable()];
}
