// Draws the dashboard's plots from the page's data, in the theme's colours, and again when the theme changes.
"use strict";

(() => {
  const figures = JSON.parse(document.getElementById("dashboard-figures").textContent);
  const drawn = [];

  const colour = (name) => getComputedStyle(document.querySelector(".d-page")).getPropertyValue(`--d-${name}`).trim();

  function duration(ms) {
    if (ms < 60000) return `${+(ms / 1000).toFixed(1)} s`;
    return ms < 3600000 ? `${+(ms / 60000).toFixed(1)} min` : `${+(ms / 3600000).toFixed(1)} h`;
  }

  function dataset(plot, series) {
    const own = { label: series.name, data: series.values, texts: series.texts };
    if (plot.kind === "lines") {
      const line = colour(series.colour);
      const isAlone = series.values.filter((value) => value !== null).length === 1; // one day makes no line
      return {
        ...own, borderColor: line, backgroundColor: line, borderWidth: 2, tension: 0.3,
        pointRadius: isAlone ? 3 : 0, pointHoverRadius: 4, spanGaps: true,
      };
    }
    return { ...own, backgroundColor: colour(series.colour), borderRadius: 2, maxBarThickness: 28, categoryPercentage: 0.86 };
  }

  function options(plot) {
    const stacked = plot.kind === "stack";
    const small = plot.kind === "bars";
    const text = { color: colour("text"), font: { family: "Inter, sans-serif", size: 11 } };
    return {
      animation: false,
      responsive: true,
      maintainAspectRatio: false,
      interaction: { mode: "index", intersect: false },
      scales: {
        x: {
          stacked,
          grid: { display: false },
          border: { display: false },
          ticks: { ...text, maxRotation: 0, autoSkip: true, autoSkipPadding: 16, display: !small },
        },
        y: {
          stacked,
          beginAtZero: true,
          suggestedMax: plot.unit === "ms" ? 1000 : undefined, // shorter ticks would all read "0 s"
          display: !small,
          border: { display: false },
          grid: { color: colour("line") },
          ticks: {
            ...text,
            maxTicksLimit: 5,
            precision: plot.unit === "ms" ? undefined : 0,
            callback: plot.unit === "ms" ? duration : (value) => value.toLocaleString("en"),
          },
        },
      },
      plugins: {
        legend: {
          display: !small,
          align: "start",
          labels: { ...text, boxWidth: 10, boxHeight: 10, useBorderRadius: true, borderRadius: 2 },
        },
        tooltip: {
          displayColors: !small,
          callbacks: {
            // Show the exact text if there is one: a drawn number may have been rounded.
            label: ({ dataset: of, dataIndex, formattedValue }) =>
              small ? of.texts[dataIndex] : ` ${of.label}: ${of.texts ? of.texts[dataIndex] : formattedValue}`,
          },
        },
      },
    };
  }

  function draw() {
    drawn.splice(0).forEach((chart) => chart.destroy());
    for (const canvas of document.querySelectorAll("canvas[data-plot]")) {
      const plot = figures.plots[canvas.dataset.plot];
      const datasets = plot.series.map((series) => dataset(plot, series));
      drawn.push(
        new Chart(canvas, {
          type: plot.kind === "lines" ? "line" : "bar",
          data: { labels: figures.days, datasets },
          options: options(plot),
        }),
      );
    }
  }

  window.addEventListener("load", () => {
    draw();
    const html = document.documentElement;
    let dark = html.classList.contains("dark");
    new MutationObserver(() => {
      if (html.classList.contains("dark") === dark) return;
      dark = !dark;
      draw();
    }).observe(html, { attributeFilter: ["class"] });
  });
})();
