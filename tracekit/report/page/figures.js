"use strict";
// Draws the figures when they come into view, in the colors of the page.
(() => {
  const items = JSON.parse(document.getElementById("figures").textContent);

  function paint(document_) {
    const style = getComputedStyle(document.documentElement);
    const text = style.getPropertyValue("--text").trim();
    const dim = style.getPropertyValue("--dim").trim();
    const line = style.getPropertyValue("--line").trim();
    for (const model of document_._all_models.values()) {
      const wanted = {
        title: { text_color: text },
        axis: {
          axis_label_text_color: text, major_label_text_color: text,
          axis_line_color: dim, major_tick_line_color: dim, minor_tick_line_color: null,
        },
        grid: { grid_line_color: line },
        legend: { label_text_color: text },
      };
      const type = model.type;
      const kind = type === "Title" ? "title"
        : type.endsWith("Axis") ? "axis"
        : type === "Grid" ? "grid"
        : type === "Legend" ? "legend" : null;
      if (kind) model.setv(wanted[kind]);
    }
  }

  async function draw(target) {
    const item = items[target.id];
    if (item === undefined) return;
    delete items[target.id];
    const views = await Bokeh.embed.embed_item(item, target.id);
    for (const view of views) paint(view.model.document);
    target.dataset.drawn = "yes";
  }

  const targets = document.querySelectorAll(".figure");
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting) {
        seen.unobserve(entry.target);
        draw(entry.target);
      }
    }
  }, { rootMargin: "600px" });
  targets.forEach((target) => seen.observe(target));
  addEventListener("beforeprint", () => targets.forEach(draw));
  document.addEventListener("tracekit-theme", () => {
    if (window.Bokeh) Bokeh.documents.forEach(paint);
  });
})();
