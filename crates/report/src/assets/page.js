"use strict";
(() => {
  const $ = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const make = (tag, text) => {
    const element = document.createElement(tag);
    element.textContent = text;
    return element;
  };

  // Tables sort by a click on a heading, or Enter on it.
  const keyOf = (row, column) => {
    const cell = row.cells[column];
    const value = cell.dataset.sort ?? cell.textContent.trim();
    const number = Number(value);
    return value !== "" && Number.isFinite(number) ? number : value;
  };
  const compare = (a, b) => {
    if (typeof a === "number" && typeof b === "number") return a - b;
    if (typeof a === "number") return 1;
    if (typeof b === "number") return -1;
    return a.localeCompare(b, undefined, { numeric: true });
  };
  for (const table of all("table[data-sortable]")) {
    const headings = all("thead th", table);
    headings.forEach((heading, column) => {
      const button = make("button", heading.textContent);
      button.type = "button";
      heading.replaceChildren(button);
      button.addEventListener("click", () => {
        const before = heading.getAttribute("aria-sort");
        const first = heading.classList.contains("num") ? "descending" : "ascending";
        const other = first === "ascending" ? "descending" : "ascending";
        const now = before === first ? other : first;
        headings.forEach((one) => one.removeAttribute("aria-sort"));
        heading.setAttribute("aria-sort", now);
        const sign = now === "ascending" ? 1 : -1;
        const rows = [...table.tBodies[0].rows];
        const keys = new Map(rows.map((row) => [row, keyOf(row, column)]));
        rows.sort((a, b) => sign * compare(keys.get(a), keys.get(b)));
        table.tBodies[0].append(...rows);
      });
    });
  }

  // A link to a folded region unfolds it; paper has no folds.
  const unfold = () => {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (target && target.tagName === "DETAILS") {
      target.open = true;
      target.scrollIntoView();
    }
  };
  addEventListener("hashchange", unfold);
  unfold();
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = all("details:not([open])");
    folded.forEach((one) => { one.open = true; });
  });
  addEventListener("afterprint", () => folded.forEach((one) => { one.open = false; }));

  const duration = (ns) => {
    for (const [scale, unit] of [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]]) {
      if (Math.abs(ns) >= scale) return `${Number((ns / scale).toPrecision(3))} ${unit}`;
    }
    return ns === 0 ? "0" : `${Math.round(ns)} ns`;
  };
  const roundStep = (rough) => {
    const power = 10 ** Math.floor(Math.log10(rough));
    return power * ([1, 2, 5].find((factor) => power * factor >= rough) ?? 10);
  };

  // One timeline: rows are threads, colours are states. Where a thread changed
  // state faster than can be drawn, the states lie on top of each other, by
  // their share.
  const timeline = (root, data) => {
    const canvas = $("canvas", root);
    const readout = $(".readout", root);
    const screen = canvas.getContext("2d");
    const picture = document.createElement("canvas");
    const context = picture.getContext("2d");
    const count = data.threads.length;
    const rowHeight = count <= 8 ? 26 : count <= 16 ? 18 : count <= 32 ? 12 : count <= 64 ? 9 : 6;
    const gap = rowHeight >= 12 ? 3 : rowHeight >= 9 ? 1 : 0;
    const lane = 20;
    const axis = 26;
    const left = 78;
    const right = 8;
    const height = lane + rowHeight * count + axis;
    const full = [data.begin, Math.max(data.end, data.begin + 1)];
    let view = [...full];
    let drag = null;
    let width = 0;

    const x = (ns) => left + ((ns - view[0]) / (view[1] - view[0])) * (width - left - right);
    const timeAt = (px) => view[0] + ((px - left) / (width - left - right)) * (view[1] - view[0]);
    const colours = () => {
      const style = getComputedStyle(document.documentElement);
      const read = (name) => style.getPropertyValue(`--${name}`).trim();
      return { states: data.states.map(read), soft: read("soft"), rule: read("rule"), ink: read("ink"), accent: read("accent"), raised: read("raised") };
    };
    // First segment that ends after the left edge: segments are in order.
    const firstVisible = (segments) => {
      let low = 0;
      let high = segments.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (segments[middle][1] < view[0]) low = middle + 1; else high = middle;
      }
      return low;
    };

    const draw = () => {
      const ratio = devicePixelRatio || 1;
      width = canvas.clientWidth;
      canvas.style.height = `${height}px`;
      for (const one of [canvas, picture]) {
        one.width = Math.max(1, Math.round(width * ratio));
        one.height = Math.round(height * ratio);
      }
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      const colour = colours();
      context.font = "11px system-ui, sans-serif";
      context.textBaseline = "middle";
      drawLane(colour);
      const sums = new Float32Array(Math.max(1, Math.ceil(width)) * stateCount);
      data.threads.forEach((thread, index) => drawThread(thread, lane + index * rowHeight, colour, sums));
      drawLabels(colour);
      drawAxis(colour);
      show(colour);
    };

    // The picture, and over it the stretch being selected.
    const show = (colour = colours()) => {
      screen.setTransform(1, 0, 0, 1, 0, 0);
      screen.clearRect(0, 0, canvas.width, canvas.height);
      screen.drawImage(picture, 0, 0);
      if (drag) {
        const ratio = canvas.width / Math.max(1, width);
        screen.globalAlpha = 0.25;
        screen.fillStyle = colour.accent;
        screen.fillRect(Math.min(...drag) * ratio, 0, Math.abs(drag[1] - drag[0]) * ratio, (height - axis) * ratio);
        screen.globalAlpha = 1;
      }
    };

    const drawLane = (colour) => {
      const segments = data.threads[0]?.segments ?? [];
      let run = null;
      const flush = () => {
        if (!run) return;
        const from = Math.max(left, x(run[0]));
        const to = Math.min(width - right, x(run[1]));
        if (to - from >= 3 && run[2] > 0) {
          context.fillStyle = colour.rule;
          context.fillRect(from, 2, to - from - 1, lane - 6);
          const name = data.regions[run[2]] ?? "";
          if (to - from > 46) {
            context.save();
            context.beginPath();
            context.rect(from, 0, to - from - 3, lane);
            context.clip();
            context.fillStyle = colour.ink;
            context.textAlign = "left";
            context.fillText(name, from + 4, lane / 2 - 1);
            context.restore();
          }
        }
      };
      for (let index = firstVisible(segments); index < segments.length; index += 1) {
        const [begin, end, region] = segments[index];
        if (begin > view[1]) break;
        if (run && run[2] === region) run[1] = end;
        else { flush(); run = [begin, end, region]; }
      }
      flush();
    };

    // Time per state in each column of pixels: what is shorter than a pixel
    // counts by its share of it instead of being drawn over.
    const stateCount = data.states.length;
    // Computing lies at the bottom, what is lost piles up on it.
    const order = [stateCount - 1, ...Array(stateCount - 1).keys()];
    const gather = (segments, columns, sums) => {
      sums.fill(0);
      const add = (column, state, amount) => { sums[column * stateCount + state] += amount; };
      for (let index = firstVisible(segments); index < segments.length; index += 1) {
        const [begin, end, , state, mix] = segments[index];
        if (begin > view[1]) break;
        const from = Math.max(0, x(begin) - left);
        const to = Math.min(columns, x(end) - left);
        for (let column = Math.floor(from); column < to; column += 1) {
          const part = Math.min(to, column + 1) - Math.max(from, column);
          if (!mix) add(column, state, part);
          else for (let one = 0; one < mix.length; one += 2) add(column, mix[one], (part * mix[one + 1]) / 100);
        }
      }
    };
    // The rectangles of a column, as text, so that equal neighbours are drawn
    // at once: [state, bottom, height, ...] in pixels.
    const piles = (sums, column, tall) => {
      const at = column * stateCount;
      let total = 0;
      let most = 0;
      for (let state = 0; state < stateCount; state += 1) {
        total += sums[at + state];
        if (sums[at + state] > sums[at + most]) most = state;
      }
      if (total < 0.01) return "";
      if (tall < 6) return `${most},0,${tall}`;
      const parts = [];
      let below = 0;
      let reached = 0;
      for (const state of order) {
        if (sums[at + state] === 0) continue;
        below += sums[at + state];
        const top = Math.round((below / total) * tall);
        if (top > reached) parts.push(state, reached, top - reached);
        reached = top;
      }
      return parts.join();
    };
    const drawThread = (thread, top, colour, sums) => {
      const tall = rowHeight - gap;
      const columns = Math.max(1, Math.floor(width - left - right));
      gather(thread.segments, columns, sums);
      let start = 0;
      let now = piles(sums, 0, tall);
      for (let column = 1; column <= columns; column += 1) {
        const next = column < columns ? piles(sums, column, tall) : null;
        if (next === now) continue;
        const parts = now === "" ? [] : now.split(",").map(Number);
        for (let one = 0; one < parts.length; one += 3) {
          context.fillStyle = colour.states[parts[one]];
          context.fillRect(left + start, top + tall - parts[one + 1] - parts[one + 2], column - start, parts[one + 2]);
        }
        start = column;
        now = next;
      }
    };

    const drawLabels = (colour) => {
      context.fillStyle = colour.soft;
      context.textAlign = "right";
      const each = [1, 2, 4].find((one) => one * rowHeight >= 13) ?? 8;
      data.threads.forEach((thread, index) => {
        if (index % each === 0) context.fillText(thread.name, left - 8, lane + (index + 0.5) * rowHeight - gap / 2);
      });
    };

    const drawAxis = (colour) => {
      const step = roundStep((view[1] - view[0]) / Math.max(2, (width - left) / 110));
      const y = lane + rowHeight * count + 4;
      context.textAlign = "center";
      for (let tick = Math.ceil((view[0] - data.begin) / step) * step + data.begin; tick <= view[1]; tick += step) {
        const at = x(tick);
        if (at > width - 24) break;
        context.fillStyle = colour.rule;
        context.fillRect(at, y - 4, 1, 5);
        context.fillStyle = colour.soft;
        context.fillText(duration(tick - data.begin), Math.max(at, left), y + 10);
      }
    };

    const setView = (from, to) => {
      const least = Math.max((full[1] - full[0]) * 1e-6, 10);
      const span = Math.min(Math.max(to - from, least), full[1] - full[0]);
      const start = Math.min(Math.max(from, full[0]), full[1] - span);
      view = [start, start + span];
      draw();
    };
    const zoom = (factor, around = (view[0] + view[1]) / 2) =>
      setView(around - (around - view[0]) * factor, around + (view[1] - around) * factor);
    const pan = (share) => {
      const by = (view[1] - view[0]) * share;
      setView(view[0] + by, view[1] + by);
    };

    const describe = (event) => {
      const box = canvas.getBoundingClientRect();
      const row = Math.floor((event.clientY - box.top - lane) / rowHeight);
      const time = timeAt(event.clientX - box.left);
      const thread = data.threads[row];
      const segment = thread && event.clientX - box.left >= left && thread.segments.find((one) => one[0] <= time && time < one[1]);
      if (!segment) { readout.textContent = ""; return; }
      const [begin, end, region, state, mix] = segment;
      const parts = [];
      if (mix) for (let part = 0; part < mix.length; part += 2) parts.push(`${data.names[mix[part]]} ${mix[part + 1]} %`);
      else parts.push(data.names[state]);
      readout.textContent = `${thread.name}, ${duration(begin - data.begin)} to ${duration(end - data.begin)}, ${data.regions[region] ?? "?"}: ${parts.join(", ")}`;
    };

    const button = (text, label, act) => {
      const one = make("button", text);
      one.type = "button";
      one.title = label;
      one.addEventListener("click", act);
      return one;
    };
    $(".tools", root).append(
      button("Zoom in", "or +", () => zoom(0.5)),
      button("Zoom out", "or -", () => zoom(2)),
      button("Earlier", "or left arrow", () => pan(-0.5)),
      button("Later", "or right arrow", () => pan(0.5)),
      button("Everything", "or 0", () => setView(...full)),
      make("span", "Drag over a stretch of time to look closer."),
    );
    canvas.addEventListener("pointerdown", (event) => {
      const at = event.clientX - canvas.getBoundingClientRect().left;
      drag = [at, at];
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (drag) { drag[1] = event.clientX - canvas.getBoundingClientRect().left; show(); }
      describe(event);
    });
    canvas.addEventListener("pointerup", () => {
      const [from, to] = drag ? [Math.min(...drag), Math.max(...drag)] : [0, 0];
      drag = null;
      if (to - from > 5) setView(timeAt(from), timeAt(to)); else show();
    });
    canvas.addEventListener("pointercancel", () => { drag = null; show(); });
    canvas.addEventListener("pointerleave", () => { readout.textContent = ""; });
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      zoom(event.deltaY > 0 ? 1.25 : 0.8, timeAt(event.clientX - canvas.getBoundingClientRect().left));
    }, { passive: false });
    const keys = { "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), 0: () => setView(...full), ArrowLeft: () => pan(-0.25), ArrowRight: () => pan(0.25) };
    canvas.addEventListener("keydown", (event) => {
      const act = keys[event.key];
      if (act && !event.ctrlKey && !event.metaKey && !event.altKey) { event.preventDefault(); act(); }
    });
    new ResizeObserver(draw).observe(root);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
    draw();
    canvas.dataset.drawn = "yes";
  };

  const data = JSON.parse($("#data").textContent);
  all("[data-timeline]").forEach((root) => timeline(root, data.timelines[Number(root.dataset.timeline)]));
})();
