"use strict";
// The page of `clinfer explain --memory`: time runs to the right, addresses upwards, block on block.
const data = JSON.parse(document.getElementById("data").textContent);
const SVG = "http://www.w3.org/2000/svg";
const $ = (id) => document.getElementById(id);
const BOX = { left: 78, top: 10, right: 12, bottom: 34 };
const state = { picture: 0, chosen: null };

function make(space, tag, attributes, children) {
  const element = space ? document.createElementNS(space, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value);
  }
  element.append(...children.flat());
  return element;
}
const h = (tag, attributes, ...children) => make(null, tag, attributes, children);
const s = (tag, attributes, ...children) => make(SVG, tag, attributes, children);
const picture = () => data.pictures[state.picture];

function size(bytes) {
  for (const [unit, width] of [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]]) {
    if (bytes >= width) return (bytes / width).toFixed(bytes >= 100 * width ? 0 : 1) + " " + unit;
  }
  return bytes + " B";
}

function showHeader() {
  document.querySelector("h1").textContent = data.title;
  const shapes = Object.entries(data.inputs).map(([name, shape]) => name + shape).join(" ");
  $("subject").textContent = `memory on ${data.device} (${data.device_name}), computing in ${data.precision}, ${shapes}`;
  const { peak, lower_bound: bound, constants, tensors } = picture();
  const chips = [[size(constants), "constants"], [size(peak), "results and scratch"], [size(bound), "lower bound"],
    [bound ? (peak / bound).toFixed(3) : "–", "times the lower bound"], [String(tensors.length), "tensors"]];
  $("chips").replaceChildren(...chips.map(([value, what]) => h("div", { class: "chip" }, h("b", {}, value), h("span", {}, what))));
}

function showChart() {
  const { steps, blocks, tensors, live, lower_bound: bound, peak } = picture();
  const { width, height } = $("stage").getBoundingClientRect();
  const [w, high] = [Math.max(width - 36, 400), Math.max(height - 28, 420)];
  const across = (w - BOX.left - BOX.right) / Math.max(steps.length, 1);
  const up = (high - BOX.top - BOX.bottom) / Math.max(peak, bound, 1);
  const x = (step) => BOX.left + step * across;
  const y = (bytes) => high - BOX.bottom - bytes * up;
  const base = [];
  blocks.reduce((sum, block) => (base.push(sum), sum + block.nbytes), 0);
  const parts = blocks.map((block, i) => s("rect", {
    class: "block", x: x(0), y: y(base[i] + block.nbytes), width: across * steps.length, height: block.nbytes * up }));
  tensors.forEach((t, i) => {
    const bottom = base[t.block] + t.offset;
    parts.push(s("rect", {
      class: `tensor ${t.kind}`, "data-name": t.name, x: x(t.first), y: y(bottom + t.nbytes),
      width: across * (t.last - t.first + 1), height: Math.max(t.nbytes * up, .5), onclick: () => choose(i),
    }, s("title", {}, `${t.name}${t.shape}: ${size(t.nbytes)}, steps ${t.first} to ${t.last}`)));
  });
  const path = live.map((bytes, i) => `${i ? "L" : "M"}${x(i)},${y(bytes)}H${x(i + 1)}`).join("");
  parts.push(s("path", { class: "live", d: path || "M0,0" }),
    s("line", { class: "bound", x1: x(0), x2: x(steps.length), y1: y(bound), y2: y(bound) }));
  for (let i = 0; i <= 4; i++) {
    const bytes = (Math.max(peak, bound) * i) / 4;
    parts.push(s("text", { x: BOX.left - 8, y: y(bytes) + 4, "text-anchor": "end" }, size(Math.round(bytes))));
  }
  parts.push(s("text", { x: x(0), y: high - 10 }, `steps 0 to ${steps.length - 1}, in the order of execution`));
  $("chart").setAttribute("viewBox", `0 0 ${w} ${high}`);
  $("chart").replaceChildren(...parts);
}

function rows(entries) {
  return h("table", {}, entries.map(([what, value]) => h("tr", {}, h("th", {}, what), h("td", {}, value))));
}

function showPanel() {
  const { tensors, blocks, steps } = picture();
  const t = tensors[state.chosen];
  const about = t ? [h("h3", { id: "chosen" }, t.name), rows([["kind", t.kind], ["shape", t.shape || "–"],
    ["bytes", `${t.nbytes} (${size(t.nbytes)})`], ["made at", `step ${t.first}, ${steps[t.first]}`],
    ["last needed at", `step ${t.last}, ${steps[t.last]}`], ["lies in", `block ${t.block} at ${t.offset}`],
    ["type of memory", `${blocks[t.block].allocation_type} (${blocks[t.block].native_type})`]])]
    : [h("p", {}, "Click a tensor for its details.")];
  const keys = [["tensor", "intermediate result"], ["output", "output"], ["scratch", "scratch buffer"],
    ["live", "bytes needed at each step; dashed: the lower bound"]];
  $("panel").replaceChildren(...about, h("h3", {}, "Network"), rows(data.summaries[state.picture]),
    h("h3", {}, "Types of memory, the whole engine"), rows(data.types.map((use) => [
      use.allocation_type, `${size(use.current)} now, ${size(use.peak)} at most (${use.native_type})`])),
    h("h3", {}, "Colours"), ...keys.map(([kind, what]) => h("div", {}, h("span", { class: `key ${kind}` }), what)));
}

function choose(index) {
  state.chosen = state.chosen === index ? null : index;
  document.querySelectorAll("#chart .tensor").forEach((rect, i) => rect.classList.toggle("chosen", i === state.chosen));
  showPanel();
}

function show() {
  showHeader();
  showChart();
  showPanel();
}

$("picture").replaceChildren(...data.pictures.map((each, i) => h("option", { value: i }, each.name || "the model")));
$("picture").hidden = data.pictures.length < 2;
$("picture").addEventListener("change", () => {
  state.picture = Number($("picture").value);
  state.chosen = null;
  show();
});
$("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
});
addEventListener("resize", showChart);
show();
