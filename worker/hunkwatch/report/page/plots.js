"use strict";
// Draws the plots from the numbers in #data, in the colours of the page, again when those change.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const byId = (id) => document.getElementById(id);

  // ---------------------------------------------------------------- colours

  const probe = document.body.appendChild(document.createElement("span"));
  probe.hidden = true;
  const colour = (name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };

  // ---------------------------------------------------------------- plots

  const settings = { displayModeBar: false, responsive: true };
  const layout = (more) => ({
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: colour("ink"), family: "system-ui, sans-serif", size: 13 },
    margin: { l: 50, r: 15, t: 36, b: 40 },
    legend: { orientation: "h", yanchor: "bottom", y: 1, yref: "paper" },
    hoverlabel: { font: { family: "system-ui, sans-serif" } },
    ...more,
    xaxis: { gridcolor: colour("rule"), zerolinecolor: colour("rule"), automargin: true, ...more.xaxis },
    yaxis: { gridcolor: colour("rule"), zerolinecolor: colour("rule"), automargin: true, ...more.yaxis },
  });
  const painted = (series) => series.map(({ paint, ...trace }) => {
    const of = colour(paint);
    return trace.type === "bar" ? { ...trace, marker: { color: of } } : { ...trace, line: { color: of, width: 2 }, marker: { color: of, size: 7 } };
  });
  const draw = (figure) => {
    if (!window.Plotly) return undefined; // not there yet: everything is drawn once it is
    const choice = byId(`s-${figure.id}`);
    const shown = choice ? figure.variants[choice.value] : figure;
    const place = byId(`p-${figure.id}`);
    if (shown.lines) place.style.height = `${6 + 1.7 * shown.lines}rem`;
    return Plotly.react(place, painted(shown.series), layout(shown.layout), settings);
  };
  const drawAll = () => Promise.all(data.figures.map(draw));
  for (const figure of data.figures) {
    const choice = byId(`s-${figure.id}`);
    if (choice) choice.addEventListener("change", () => draw(figure));
  }

  // ---------------------------------------------------------------- light and dark

  const themes = [["", "as the system"], ["light", "light"], ["dark", "dark"]];
  let theme = 0;
  const button = byId("theme");
  button.hidden = false;
  button.addEventListener("click", () => {
    theme = (theme + 1) % themes.length;
    root.dataset.theme = themes[theme][0];
    button.textContent = `Theme: ${themes[theme][1]}`;
    drawAll();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);

  // The plotting library is text until the page can be read: running it takes longer than everything else.
  const start = () => {
    document.head.append(Object.assign(document.createElement("script"), { textContent: byId("plotly").textContent }));
    drawAll().then(() => { root.dataset.ready = "true"; });
  };
  addEventListener("load", () => setTimeout(start, 0));
})();
