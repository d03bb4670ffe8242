
// -- two runs side by side -------------------------------------------------------------------------

function times(row, most) {
  return h("td", { class: "pair" }, ...[row.one, row.other].map((cost, i) => h("div", { class: i ? "other" : "one", style: `width: ${cost && most ? (100 * cost.us) / most : 0}%` })));
}

function comparison(each) {
  const rows = each.rows.filter((row) => (row.one && row.one.us) || (row.other && row.other.us));
  const most = Math.max(...rows.flatMap((row) => [row.one, row.other]).map((cost) => (cost ? cost.us : 0)), 0);
  const facts = [...new Set([...Object.keys(each.one.facts), ...Object.keys(each.other.facts)])];
  const shown = rows.filter((row) => row.name.toLowerCase().includes(state.query));
  const ratio = (one, other) => (one && other ? (one / other).toFixed(2) : "–");
  const kernel = (row) => [...new Set([row.other, row.one].filter(Boolean).map((cost) => cost.kernel))].join(" → ");
  const sizes = (row) => [...new Set([row.one, row.other].filter(Boolean).map((cost) => cost.shapes.join(" ")))].join(" · ");
  return [h("h2", {}, "Compared"),
    h("table", { class: "figures sides" }, h("tr", {}, h("th"), h("th", { class: "one" }, each.one.title), h("th", { class: "other" }, each.other.title)),
      ...facts.map((name) => h("tr", {}, h("td", {}, name), h("td", {}, each.one.facts[name] || "–"), h("td", {}, each.other.facts[name] || "–"))),
      h("tr", {}, h("td", {}, "device time"), h("td", {}, `${duration(each.one.total_us)}, ${ratio(each.one.total_us, each.other.total_us)} times`), h("td", {}, duration(each.other.total_us)))),
    h("table", { class: "figures compared" }, h("tr", {}, ...["primitive", "time", "", "other", "ratio"].map((name) => h("th", {}, name))),
      ...shown.map((row) => h("tr", {}, h("td", {}, link(row.name), h("div", { class: "muted mono" }, kernel(row)), h("div", { class: "muted mono" }, sizes(row))), h("td", {}, row.one ? duration(row.one.us) : "not there"), times(row, most),
        h("td", {}, row.other ? duration(row.other.us) : "not there"), h("td", {}, row.ratio === null ? "–" : row.ratio.toFixed(2)))))];
}

const compared = () => data.comparisons.flatMap(comparison);
