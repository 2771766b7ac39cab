
// A stretch of time that several pictures may show together. Moments have places on it:
// the moments themselves, or fractions of phases.
const timeAxis = (begin, end, phaseEnds = null) => {
  const edges = phaseEnds && [begin, ...phaseEnds.slice(0, -1), end];
  const phaseAt = (ns) => {
    let low = 0;
    let high = edges.length - 2;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (edges[middle] <= ns) low = middle; else high = middle - 1;
    }
    const length = edges[low + 1] - edges[low];
    return low + (length > 0 ? Math.min(1, Math.max(0, (ns - edges[low]) / length)) : 0);
  };
  const axis = {
    begin,
    logical: false,
    hasPhases: edges !== null,
    planes: [],
    place: (ns) => (axis.logical ? phaseAt(ns) : ns),
    full: () => (axis.logical ? [0, edges.length - 1] : [begin, Math.max(end, begin + 1)]),
    label: (place, step) => (axis.logical ? `phase ${Math.round(place) + 1}` : duration(place - begin, step)),
    setView: (from, to) => {
      const [first, last] = axis.full();
      const least = axis.logical ? 1 : Math.max((last - first) * 1e-6, 10);
      const span = Math.min(Math.max(to - from, least), last - first);
      const start = Math.min(Math.max(from, first), last - span);
      axis.view = [start, start + span];
      axis.planes.forEach((draw) => draw());
    },
    setLogical: (logical) => {
      axis.logical = logical;
      axis.setView(...axis.full());
    },
  };
  axis.view = axis.full();
  return axis;
};

// Colours of the style, by name.
const palette = () => {
  const style = getComputedStyle(document.documentElement);
  const known = new Map();
  return (name) => {
    if (!known.has(name)) known.set(name, style.getPropertyValue(`--${name}`).trim());
    return known.get(name);
  };
};

// A canvas that is painted again when its size or the colours change.
const surface = (root, height, paint) => {
  const canvas = $("canvas", root);
  const screen = canvas.getContext("2d");
  const picture = document.createElement("canvas");
  const context = picture.getContext("2d");
  const self = { canvas, context, width: 0, height: 0 };
  self.show = (over = null) => {
    screen.setTransform(1, 0, 0, 1, 0, 0);
    screen.clearRect(0, 0, canvas.width, canvas.height);
    screen.drawImage(picture, 0, 0);
    if (over) over(screen, canvas.width / Math.max(1, self.width));
  };
  self.draw = () => {
    const ratio = devicePixelRatio || 1;
    self.width = canvas.clientWidth;
    self.height = height(self.width);
    canvas.style.height = `${self.height}px`;
    for (const one of [canvas, picture]) {
      one.width = Math.max(1, Math.round(self.width * ratio));
      one.height = Math.max(1, Math.round(self.height * ratio));
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    self.colour = palette();
    paint(self);
    self.show();
  };
  new ResizeObserver(self.draw).observe(root);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", self.draw);
  return self;
};

const buttonOf = (text, label, act) => {
  const one = make("button", text);
  one.type = "button";
  one.title = label;
  one.addEventListener("click", act);
  return one;
};

// A choice of one of several texts.
const chooser = (text, titles, act) => {
  const label = make("label", `${text} `);
  const select = document.createElement("select");
  titles.forEach((title, index) => {
    const option = make("option", title);
    option.value = String(index);
    select.append(option);
  });
  select.addEventListener("change", () => act(Number(select.value)));
  label.append(select);
  return label;
};

// A picture over time that zooms. `shape` says how high it is, what it paints, what there
// is at a point, and the room that it needs at the left.
const plane = (root, axis, shape) => {
  const readout = $(".readout", root);
  const right = 8;
  const foot = 26;
  let drag = null;
  const self = surface(root, (width) => shape.height(width) + foot, () => {
    self.left = shape.left(self.width);
    shape.paint(self);
    drawAxis();
  });
  self.right = right;
  const room = () => Math.max(1, self.width - self.left - right);
  const xOf = (place) => self.left + ((place - axis.view[0]) / (axis.view[1] - axis.view[0])) * room();
  const placeAt = (px) => axis.view[0] + ((px - self.left) / room()) * (axis.view[1] - axis.view[0]);
  self.x = (ns) => xOf(axis.place(ns));
  self.placeAt = placeAt;
  self.columns = () => Math.max(1, Math.floor(room()));

  const drawAxis = () => {
    const { context, colour } = self;
    const span = axis.view[1] - axis.view[0];
    let step = roundStep(span / Math.max(2, (self.width - self.left) / 110));
    if (axis.logical) step = Math.max(1, Math.round(step));
    const origin = axis.logical ? 0 : axis.begin;
    const y = self.height - foot + 4;
    context.textAlign = "center";
    for (let tick = Math.ceil((axis.view[0] - origin) / step) * step + origin; tick <= axis.view[1]; tick += step) {
      const at = xOf(tick);
      if (at > self.width - 24) break;
      context.fillStyle = colour("rule");
      context.fillRect(at, y - 4, 1, 5);
      context.fillStyle = colour("soft");
      context.fillText(axis.label(tick, step), Math.max(at, self.left), y + 10);
    }
  };

  const selection = (screen, ratio) => {
    screen.globalAlpha = 0.25;
    screen.fillStyle = self.colour("accent");
    screen.fillRect(Math.min(...drag) * ratio, 0, Math.abs(drag[1] - drag[0]) * ratio, (self.height - foot) * ratio);
    screen.globalAlpha = 1;
  };
  const zoom = (factor, around = (axis.view[0] + axis.view[1]) / 2) =>
    axis.setView(around - (around - axis.view[0]) * factor, around + (axis.view[1] - around) * factor);
  const pan = (share) => {
    const by = (axis.view[1] - axis.view[0]) * share;
    axis.setView(axis.view[0] + by, axis.view[1] + by);
  };
  const everything = () => axis.setView(...axis.full());

  $(".tools", root).append(
    buttonOf("Zoom in", "or +", () => zoom(0.5)),
    buttonOf("Zoom out", "or -", () => zoom(2)),
    buttonOf("Earlier", "or left arrow", () => pan(-0.5)),
    buttonOf("Later", "or right arrow", () => pan(0.5)),
    buttonOf("Everything", "or 0", everything),
    make("span", "Drag over a stretch of time to look closer."),
  );
  const { canvas } = self;
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  canvas.addEventListener("pointerdown", (event) => {
    drag = [at(event)[0], at(event)[0]];
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = at(event);
    if (drag) { drag[1] = x; self.show(selection); }
    readout.textContent = x >= self.left ? shape.describe(self, x, y) : "";
  });
  canvas.addEventListener("pointerup", () => {
    const [from, to] = drag ? [Math.min(...drag), Math.max(...drag)] : [0, 0];
    drag = null;
    if (to - from > 5) axis.setView(placeAt(from), placeAt(to)); else self.show();
  });
  canvas.addEventListener("pointercancel", () => { drag = null; self.show(); });
  canvas.addEventListener("pointerleave", () => { readout.textContent = ""; });
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.25 : 0.8, placeAt(at(event)[0]));
  }, { passive: false });
  const keys = { "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), 0: everything, ArrowLeft: () => pan(-0.25), ArrowRight: () => pan(0.25) };
  canvas.addEventListener("keydown", (event) => {
    const act = keys[event.key];
    if (act && !event.ctrlKey && !event.metaKey && !event.altKey) { event.preventDefault(); act(); }
  });
  axis.planes.push(self.draw);
  self.draw();
  canvas.dataset.drawn = "yes";
  return self;
};

// Names of regions over the time in which they ran: `[begin, end, region]` by time, of
// which number 0 is none.
const LANE = 20;
const drawRegions = (self, spans, names, none) => {
  const { context, colour } = self;
  let run = null;
  const flush = () => {
    if (!run) return;
    const from = Math.max(self.left, self.x(run[0]));
    const to = Math.min(self.width - self.right, self.x(run[1]));
    if (to - from < 3 || run[2] === none) return;
    context.fillStyle = colour("rule");
    context.fillRect(from, 2, to - from - 1, LANE - 6);
    if (to - from > 46) {
      context.save();
      context.beginPath();
      context.rect(from, 0, to - from - 3, LANE);
      context.clip();
      context.fillStyle = colour("ink");
      context.textAlign = "left";
      context.fillText(names[run[2]] ?? "", from + 4, LANE / 2 - 1);
      context.restore();
    }
  };
  for (const [begin, end, region] of spans) {
    if (self.x(end) < self.left) continue;
    if (self.x(begin) > self.width - self.right) break;
    if (run && run[2] === region && run[1] === begin) run[1] = end;
    else { flush(); run = [begin, end, region]; }
  }
  flush();
};

// Time per state in each column of pixels of a row: what is shorter than a pixel counts
// by its share of it instead of being drawn over. States lie on top of each other in
// `order`.
const drawStates = (self, segments, top, tall, colours, order) => {
  const { context } = self;
  const stateCount = colours.length;
  const columns = self.columns();
  const sums = new Float32Array(columns * stateCount);
  const add = (column, state, amount) => { sums[column * stateCount + state] += amount; };
  // First segment that ends after the left edge: segments are in order.
  let low = 0;
  let high = segments.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (self.x(segments[middle][1]) < self.left) low = middle + 1; else high = middle;
  }
  for (let index = low; index < segments.length; index += 1) {
    const [begin, end, , state, mix] = segments[index];
    const from = Math.max(0, self.x(begin) - self.left);
    if (from >= columns) break;
    const to = Math.min(columns, self.x(end) - self.left);
    for (let column = Math.floor(from); column < to; column += 1) {
      const part = Math.min(to, column + 1) - Math.max(from, column);
      if (!mix) add(column, state, part);
      else for (let one = 0; one < mix.length; one += 2) add(column, mix[one], (part * mix[one + 1]) / 100);
    }
  }
  // The rectangles of a column, as text, so that equal neighbours are drawn at once:
  // [state, bottom, height, ...] in pixels.
  const piles = (column) => {
    const first = column * stateCount;
    let total = 0;
    let most = 0;
    for (let state = 0; state < stateCount; state += 1) {
      total += sums[first + state];
      if (sums[first + state] > sums[first + most]) most = state;
    }
    if (total < 0.01) return "";
    if (tall < 6) return `${most},0,${tall}`;
    const parts = [];
    let below = 0;
    let reached = 0;
    for (const state of order) {
      if (sums[first + state] === 0) continue;
      below += sums[first + state];
      const until = Math.round((below / total) * tall);
      if (until > reached) parts.push(state, reached, until - reached);
      reached = until;
    }
    return parts.join();
  };
  let start = 0;
  let now = piles(0);
  for (let column = 1; column <= columns; column += 1) {
    const next = column < columns ? piles(column) : null;
    if (next === now) continue;
    const parts = now === "" ? [] : now.split(",").map(Number);
    for (let one = 0; one < parts.length; one += 3) {
      context.fillStyle = colours[parts[one]];
      context.fillRect(self.left + start, top + tall - parts[one + 1] - parts[one + 2], column - start, parts[one + 2]);
    }
    start = column;
    now = next;
  }
};

// What a segment's states are, in words.
const stateWords = (names, state, mix) => {
  if (!mix) return names[state];
  const parts = [];
  for (let part = 0; part < mix.length; part += 2) parts.push(`${names[mix[part]]} ${mix[part + 1]} %`);
  return parts.join(", ");
};

// Names of rows, as many as there is room for.
const drawRowNames = (self, names, top, rowHeight, gap) => {
  const { context, colour } = self;
  context.fillStyle = colour("soft");
  context.textAlign = "right";
  const each = [1, 2, 4].find((one) => one * rowHeight >= 13) ?? 8;
  names.forEach((name, index) => {
    if (index % each !== 0) return;
    context.fillText(fitted(context, name, self.left - 12), self.left - 8, top + (index + 0.5) * rowHeight - gap / 2);
  });
};

// As much of a name as there is room for, with its end.
const fitted = (context, name, room) => {
  let text = name;
  while (text.length > 3 && context.measureText(text).width > room) text = `…${text.slice(2)}`;
  return text;
};
