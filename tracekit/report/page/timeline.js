"use strict";
// Draws slices over time: only what is in view, one slice a pixel at most.
(() => {
  const LANE = 16;
  const GAP = 8;
  const LEFT = 170;
  const TOP = 22;
  const KERNELS = ["#0072b2", "#56b4e9", "#009e73", "#cc79a7"];
  const KINDS = { memcpy: "#e69f00", memset: "#f0e442", graph_launch: "#d55e00" };

  function time(ns) {
    for (const [factor, unit] of [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]]) {
      if (Math.abs(ns) >= factor) return (ns / factor).toFixed(3) + " " + unit;
    }
    return Math.round(ns) + " ns";
  }

  function element(name, text, parent) {
    const made = document.createElement(name);
    made.textContent = text;
    parent.append(made);
    return made;
  }

  class Timeline {
    constructor(place) {
      this.data = JSON.parse(place.firstElementChild.textContent);
      this.view = [0, Math.max(this.data.length, 1)];
      this.chosen = -1;
      this.found = null;
      this.layOut();
      const tools = element("div", "", place);
      tools.className = "tools";
      for (const [label, act] of [
        ["Zoom in", () => this.zoom(0.5)], ["Zoom out", () => this.zoom(2)],
        ["Show all", () => this.look(0, this.data.length)],
      ]) {
        const button = element("button", label, tools);
        button.type = "button";
        button.addEventListener("click", act);
      }
      const search = element("input", "", tools);
      search.type = "search";
      search.placeholder = "Find by name";
      search.setAttribute("aria-label", "Find slices by name");
      search.addEventListener("input", () => this.find(search.value));
      this.count = element("span", "", tools);
      this.count.setAttribute("role", "status");
      this.canvas = element("canvas", "", place);
      this.canvas.tabIndex = 0;
      this.canvas.setAttribute("role", "application");
      this.canvas.setAttribute("aria-label",
        "Timeline; arrow keys move, + and - zoom, [ and ] select a slice");
      this.details = element("p", "Select a slice to see what it is.", place);
      this.details.className = "details";
      this.details.setAttribute("aria-live", "polite");
      this.listen();
      new ResizeObserver(() => this.later()).observe(this.canvas);
    }

    layOut() {
      const { tracks, track, lane, start } = this.data;
      let y = TOP;
      this.tops = tracks.map((one) => {
        const top = y;
        y += one.lanes * LANE + GAP;
        return top;
      });
      this.height = y;
      const lanes = new Map();
      for (let i = 0; i < start.length; i += 1) {
        const key = track[i] * 1000 + lane[i];
        if (!lanes.has(key)) lanes.set(key, []);
        lanes.get(key).push(i);
      }
      // Merged slices first: those that stand alone are drawn onto them.
      const merged = (i) => (this.data.count[i] > 1 ? 0 : 1);
      this.lanes = [...lanes.values()];
      for (const own of this.lanes) {
        own.sort((a, b) => merged(a) - merged(b) || start[a] - start[b]);
      }
    }

    color(i) {
      const { names, name, kind, tracks, track } = this.data;
      const what = tracks[track[i]].kind;
      if (what === "range") return "#cc79a7";
      if (what === "api") return /Synchronize/.test(names[name[i]]) ? "#d55e00" : "#999999";
      return KINDS[names[kind[i]]] || KERNELS[name[i] % KERNELS.length];
    }

    x(ns) {
      const [from, to] = this.view;
      return LEFT + ((ns - from) / (to - from)) * (this.width - LEFT);
    }

    later() {
      if (this.waits) return;
      this.waits = true;
      requestAnimationFrame(() => { this.waits = false; this.draw(); });
    }

    draw() {
      const style = getComputedStyle(document.documentElement);
      const text = style.getPropertyValue("--text").trim();
      const line = style.getPropertyValue("--line").trim();
      const back = style.getPropertyValue("--back").trim();
      const ratio = window.devicePixelRatio || 1;
      this.width = this.canvas.clientWidth;
      this.canvas.style.height = this.height + "px";
      this.canvas.width = Math.round(this.width * ratio);
      this.canvas.height = Math.round(this.height * ratio);
      const pen = this.canvas.getContext("2d");
      pen.scale(ratio, ratio);
      pen.fillStyle = back;
      pen.fillRect(0, 0, this.width, this.height);
      pen.font = "11px system-ui, sans-serif";
      pen.textBaseline = "middle";
      this.drawScale(pen, text, line);
      let drawn = 0;
      pen.save();
      pen.beginPath();
      pen.rect(LEFT, 0, this.width - LEFT, this.height);
      pen.clip();
      for (const own of this.lanes) drawn += this.drawLane(pen, own, text);
      this.drawLink(pen, text);
      pen.restore();
      this.data.tracks.forEach((track, i) => {
        pen.fillStyle = text;
        pen.fillText(track.label, 4, this.tops[i] + LANE / 2, LEFT - 8);
        pen.fillStyle = line;
        pen.fillRect(0, this.tops[i] + track.lanes * LANE + GAP / 2, this.width, 1);
      });
      this.canvas.dataset.drawn = drawn;
      this.canvas.dataset.view = this.view.join(" ");
    }

    drawScale(pen, text, line) {
      const [from, to] = this.view;
      const rough = ((to - from) / (this.width - LEFT)) * 110;
      const power = 10 ** Math.floor(Math.log10(rough));
      const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
      for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
        const x = this.x(at);
        pen.fillStyle = line;
        pen.fillRect(x, 0, 1, this.height);
        pen.fillStyle = text;
        pen.fillText(time(at), x + 3, 9);
      }
    }

    drawLane(pen, own, text) {
      const { start, duration, count, track, lane, name, names } = this.data;
      const [from, to] = this.view;
      let last = -1;
      let drawn = 0;
      for (const i of own) {
        if (start[i] > to || start[i] + duration[i] < from) continue;
        const left = this.x(start[i]);
        const right = this.x(start[i] + duration[i]);
        const wide = right - left;
        // A pixel that has a slice needs no second one.
        const pixel = Math.floor(right);
        if (wide < 1 && pixel === last && i !== this.chosen) continue;
        last = pixel;
        drawn += 1;
        const y = this.tops[track[i]] + lane[i] * LANE;
        const faded = this.found !== null && !this.found.has(name[i]);
        pen.globalAlpha = faded ? 0.15 : count[i] > 1 ? 0.45 : 1;
        pen.fillStyle = this.color(i);
        pen.fillRect(left, y, Math.max(wide, 0.7), LANE - 2);
        pen.globalAlpha = 1;
        if (i === this.chosen) {
          pen.strokeStyle = text;
          pen.lineWidth = 2;
          pen.strokeRect(left, y, Math.max(wide, 2), LANE - 2);
        }
        if (wide > 40 && !faded) {
          const label = count[i] > 1 ? `${count[i]} slices` : names[name[i]];
          const fits = Math.floor(wide / 5.6);
          const begin = Math.max(left, LEFT) + 3;
          if (right - begin > 30) {
            pen.save();
            pen.beginPath();
            pen.rect(left, y, wide, LANE);
            pen.clip();
            pen.fillStyle = "#000000";
            pen.strokeStyle = "#ffffff";
            pen.lineWidth = 2.5;
            pen.strokeText(label.slice(0, fits), begin, y + LANE / 2);
            pen.fillText(label.slice(0, fits), begin, y + LANE / 2);
            pen.restore();
          }
        }
      }
      return drawn;
    }

    drawLink(pen, text) {
      if (this.chosen < 0) return;
      const { start, duration, track, lane } = this.data;
      const middle = (i) => this.tops[track[i]] + lane[i] * LANE + LANE / 2;
      pen.strokeStyle = text;
      pen.lineWidth = 1.5;
      for (const other of this.partners(this.chosen).slice(0, 50)) {
        const [call, work] = this.data.tracks[track[other]].kind === "api"
          ? [other, this.chosen] : [this.chosen, other];
        pen.beginPath();
        pen.moveTo(this.x(start[call] + duration[call]), middle(call));
        pen.lineTo(this.x(start[work]), middle(work));
        pen.stroke();
      }
    }

    partners(i) {
      const { id, process, track, tracks } = this.data;
      if (id[i] === null) return [];
      const own = tracks[track[i]].kind;
      const found = [];
      for (let j = 0; j < id.length; j += 1) {
        if (id[j] === id[i] && process[j] === process[i] && tracks[track[j]].kind !== own) {
          found.push(j);
        }
      }
      return found;
    }

    look(from, to) {
      const length = Math.max(this.data.length, 1);
      const least = Math.min(100, length / 8);
      const span = Math.min(Math.max(to - from, least), length * 1.02);
      const start = Math.min(Math.max(from, -0.01 * length), length * 1.01 - span);
      this.view = [start, start + span];
      this.later();
    }

    zoom(factor, at) {
      const [from, to] = this.view;
      const center = at === undefined ? (from + to) / 2 : at;
      this.look(center - (center - from) * factor, center + (to - center) * factor);
    }

    at(event) {
      const [from, to] = this.view;
      return from + ((event.offsetX - LEFT) / (this.width - LEFT)) * (to - from);
    }

    choose(i) {
      this.chosen = i;
      const { start, duration, count, name, kind, names, track, tracks, id, origin } = this.data;
      if (i < 0) {
        this.details.textContent = "Select a slice to see what it is.";
      } else {
        const lines = [count[i] > 1 ? `${count[i]} short slices, merged` : names[name[i]]];
        if (names[kind[i]]) lines[0] = `${names[kind[i]]}: ${lines[0]}`;
        lines.push(`${tracks[track[i]].label}; starts ${time(start[i])} after the ` +
          `stretch begins (${origin + start[i]} ns), takes ${time(duration[i])}`);
        for (const other of this.partners(i).slice(0, 1)) {
          const call = tracks[track[other]].kind === "api";
          const wait = call ? start[i] - start[other] - duration[other]
            : start[other] - start[i] - duration[i];
          lines.push(`${call ? "launched by" : "launched"} ${names[name[other]]}; ` +
            `${time(wait)} from the end of the call to the start of its work`);
        }
        if (id[i] !== null) lines.push(`correlation id ${id[i]}`);
        this.details.textContent = lines.join(". ") + ".";
        const [from, to] = this.view;
        if (start[i] > to || start[i] + duration[i] < from) {
          const span = to - from;
          this.look(start[i] - span / 2, start[i] + span / 2);
        }
      }
      this.later();
    }

    pick(event) {
      const { start, duration, track, lane, count } = this.data;
      const at = this.at(event);
      const [from, to] = this.view;
      const slack = ((to - from) / (this.width - LEFT)) * 3;
      let best = -1;
      for (const own of this.lanes) {
        const y = this.tops[track[own[0]]] + lane[own[0]] * LANE;
        if (event.offsetY < y || event.offsetY >= y + LANE) continue;
        for (const i of own) {
          if (at < start[i] - slack || at > start[i] + duration[i] + slack) continue;
          if (best < 0 || count[i] <= count[best]) best = i;
        }
      }
      this.choose(best);
    }

    step(sign) {
      if (this.chosen < 0) {
        const busy = this.lanes.filter(
          (own) => this.data.tracks[this.data.track[own[0]]].kind === "gpu");
        const own = busy[0] || this.lanes[0];
        if (own) this.choose(own.find((i) => this.data.count[i] === 1) ?? own[0]);
        return;
      }
      const own = this.lanes.find((one) => one.includes(this.chosen));
      const next = own[own.indexOf(this.chosen) + sign];
      if (next !== undefined) this.choose(next);
    }

    find(text) {
      const wanted = text.toLowerCase();
      this.found = null;
      this.count.textContent = "";
      if (wanted) {
        this.found = new Set();
        this.data.names.forEach((name, i) => {
          if (name.toLowerCase().includes(wanted)) this.found.add(i);
        });
        const slices = this.data.name.filter((i) => this.found.has(i)).length;
        this.count.textContent = `${slices} slices`;
      }
      this.later();
    }

    listen() {
      const canvas = this.canvas;
      let from = null;
      let moved = false;
      canvas.addEventListener("pointerdown", (event) => {
        from = event.offsetX;
        moved = false;
        canvas.setPointerCapture(event.pointerId);
      });
      canvas.addEventListener("pointermove", (event) => {
        if (from === null) return;
        const by = event.offsetX - from;
        if (Math.abs(by) < 3 && !moved) return;
        moved = true;
        from = event.offsetX;
        const [start, end] = this.view;
        const ns = (by / (this.width - LEFT)) * (end - start);
        this.look(start - ns, end - ns);
      });
      canvas.addEventListener("pointerup", (event) => {
        if (from !== null && !moved) this.pick(event);
        from = null;
      });
      canvas.addEventListener("dblclick", (event) => this.zoom(0.33, this.at(event)));
      canvas.addEventListener("wheel", (event) => {
        // Who scrolls past it scrolls the page.
        if (document.activeElement !== canvas) return;
        event.preventDefault();
        this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.at(event));
      }, { passive: false });
      const keys = {
        "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2),
        0: () => this.look(0, this.data.length),
        ArrowLeft: () => this.move(-0.2), ArrowRight: () => this.move(0.2),
        "[": () => this.step(-1), "]": () => this.step(1), Escape: () => this.choose(-1),
      };
      canvas.addEventListener("keydown", (event) => {
        const act = keys[event.key];
        if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        act();
      });
      document.addEventListener("tracekit-theme", () => this.later());
    }

    move(share) {
      const [from, to] = this.view;
      this.look(from + share * (to - from), to + share * (to - from));
    }
  }

  document.querySelectorAll(".timeline").forEach((place) => new Timeline(place));
})();
