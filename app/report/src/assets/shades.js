
// Pictures in which the darker is the more: maps of faults, and similarities of tasks.

// A colour for a share from 0 to 1, between those of the style.
const shadeOf = (colour) => {
  const stops = [0, 1, 2, 3, 4].map((stop) => colour(`heat-${stop}`)).map((text) =>
    [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16)));
  return (share) => {
    const place = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
    const first = Math.min(Math.floor(place), stops.length - 2);
    const mixed = stops[first].map((value, at) => Math.round(value + (stops[first + 1][at] - value) * (place - first)));
    return `rgb(${mixed.join()})`;
  };
};

// The colours with the numbers at their ends.
const drawScale = (self, x, y, least, most) => {
  const { context, colour } = self;
  const shade = shadeOf(colour);
  context.textAlign = "right";
  context.fillStyle = colour("soft");
  context.fillText(least, x - 6, y + 4);
  for (let step = 0; step < 60; step += 1) {
    context.fillStyle = shade(step / 59);
    context.fillRect(x + step, y, 1, 8);
  }
  context.textAlign = "left";
  context.fillStyle = colour("soft");
  context.fillText(most, x + 66, y + 4);
};

// Page faults over time and addresses.
const heatMap = (root, heat, axis) => {
  const cells = [];
  for (const one of heat.cells) {
    if (one < 0) for (let zeros = 0; zeros < -one; zeros += 1) cells.push(0);
    else cells.push(one);
  }
  const most = cells.reduce((a, b) => Math.max(a, b), 1);
  const gap = 3;
  const top = 18;
  // A part is high enough for its name.
  // The more of the faults, the higher: the square root keeps small ones in sight.
  const weights = heat.parts.map(([, first, count]) => Math.sqrt(
    cells.slice(first * heat.columns, (first + count) * heat.columns).reduce((a, b) => a + b, 0)));
  const together = weights.reduce((a, b) => a + b, 0) || 1;
  const parts = [];
  let below = top;
  for (const [index, [name, first, count]] of heat.parts.entries()) {
    const tall = Math.max(Math.min(Math.round((380 * weights[index]) / together), count * 24), 13);
    parts.push({ name, first, count, top: below, tall });
    below += tall + gap;
  }
  const height = below;
  const [from, to] = heat.span;
  const columnNs = Math.max(1, (to - from) / heat.columns);
  plane(root, axis, {
    height: () => height,
    left: (width) => Math.max(64, Math.min(190, width * 0.25)),
    paint: (self) => {
      const { context, colour } = self;
      const shade = shadeOf(colour);
      drawScale(self, self.width - 140, 2, "1", `${amountOf(most, false)} faults`);
      const edge = self.width - self.right;
      for (const part of parts) {
        context.fillStyle = colour("heat-0");
        context.fillRect(self.left, part.top, edge - self.left, part.tall);
        const tall = part.tall / part.count;
        for (let row = 0; row < part.count; row += 1) {
          for (let column = 0; column < heat.columns; column += 1) {
            const faults = cells[(part.first + row) * heat.columns + column];
            if (!faults) continue;
            const left = Math.max(self.left, self.x(from + column * columnNs));
            const right = Math.min(edge, self.x(from + (column + 1) * columnNs));
            if (right <= self.left || left >= edge) continue;
            context.fillStyle = shade(0.15 + 0.85 * (Math.log1p(faults) / Math.log1p(most)));
            context.fillRect(left, part.top + row * tall, Math.max(1, right - left), Math.max(1, tall));
          }
        }
        context.fillStyle = colour("soft");
        context.textAlign = "right";
        context.fillText(fitted(context, part.name, self.left - 12), self.left - 8, part.top + part.tall / 2);
      }
    },
    describe: (self, x, y) => {
      const part = parts.find((one) => one.top <= y && y < one.top + one.tall);
      const column = Math.floor((self.placeAt(x) - from) / columnNs);
      if (!part || column < 0 || column >= heat.columns) return "";
      const row = part.first + Math.min(part.count - 1, Math.floor(((y - part.top) / part.tall) * part.count));
      const faults = cells[row * heat.columns + column] ?? 0;
      const [first, last] = heat.addresses[row];
      return `${part.name}, ${first} to ${last}, ${duration(from + column * columnNs)} to ${duration(from + (column + 1) * columnNs)}: ${faults} ${faults === 1 ? "fault" : "faults"}`;
    },
  });
};

// Similarities of all pairs of tasks, beside what chance gives.
const relations = (root, all) => {
  const readout = $(".readout", root);
  let chosen = all[0];
  let cell = null;
  const top = 20;
  const between = 28;
  const layout = (width) => {
    const together = width < 560 ? 1 : 2;
    const count = chosen.tasks.length;
    const left = Math.max(20, Math.min(120, width * 0.16));
    const room = (width - left - between * (together - 1)) / together;
    const side = Math.max(40, Math.min(room, 360, count * 34));
    return { together, left, side, count };
  };
  const places = (width) => {
    const { together, left, side } = layout(width);
    return [[left, top], together === 2 ? [left + side + between, top] : [left, top + side + top + 8]];
  };
  const pair = (values, one, other) => {
    const count = chosen.tasks.length;
    const [row, column] = [Math.min(one, other), Math.max(one, other)];
    if (row === column) return null;
    return (values[(row * (2 * count - row - 1)) / 2 + column - row - 1] ?? 0) / 100;
  };
  const self = surface(root, (width) => {
    const { together, side } = layout(width);
    return (together === 2 ? side : 2 * side + top + 8) + top + 22;
  }, () => {
    const { context, colour, width } = self;
    const { side, count } = layout(width);
    const shade = shadeOf(colour);
    const size = side / count;
    [["found", chosen.found], ["by chance", chosen.chance]].forEach(([title, values], which) => {
      const [left, above] = places(width)[which];
      context.fillStyle = colour("soft");
      context.textAlign = "left";
      context.fillText(which === 0 ? `${chosen.measure}` : title, left, above - 10);
      for (let row = 0; row < count; row += 1) {
        for (let column = 0; column < count; column += 1) {
          const value = pair(values, row, column);
          context.fillStyle = value === null ? colour("rule") : shade(value);
          const [x, y] = [left + column * size, above + row * size];
          context.fillRect(Math.floor(x), Math.floor(y), Math.ceil(x + size) - Math.floor(x) - (size > 8 ? 1 : 0), Math.ceil(y + size) - Math.floor(y) - (size > 8 ? 1 : 0));
        }
      }
      // Groups of tasks that are alike.
      context.strokeStyle = colour("ink");
      context.lineWidth = 1.5;
      let first = 0;
      chosen.groups.forEach((group, number) => {
        const alike = group > 1 && (number < chosen.groups.length - 1 || chosen.groups.length === 1);
        if (alike && which === 0) context.strokeRect(left + first * size, above + first * size, group * size, group * size);
        first += group;
      });
      if (cell) {
        context.strokeStyle = colour("measured");
        context.lineWidth = 2;
        context.strokeRect(left + cell[1] * size, above + cell[0] * size, size, size);
      }
      if (which === 0 && size >= 11) {
        context.fillStyle = colour("soft");
        context.textAlign = "right";
        chosen.tasks.forEach((name, row) => context.fillText(fitted(context, name, left - 10), left - 6, above + (row + 0.5) * size));
      }
    });
    drawScale(self, places(width)[0][0] + 20, self.height - 12, "0", "1");
  });
  const describe = () => {
    if (!cell || cell[0] === cell[1]) { readout.textContent = ""; return; }
    const [one, other] = cell;
    const short = (value) => String(Number((value ?? 0).toPrecision(2)));
    readout.textContent = `${chosen.tasks[one]} and ${chosen.tasks[other]}: ${short(pair(chosen.found, one, other))}, where chance stays below ${short(pair(chosen.chance, one, other))}`;
  };
  const move = (next) => {
    const changed = String(next) !== String(cell);
    cell = next;
    if (changed) { self.draw(); describe(); }
  };
  if (all.length > 1) {
    $(".tools", root).append(chooser("Of", all.map((one) => one.title), (index) => {
      chosen = all[index];
      cell = null;
      self.draw();
      describe();
    }));
  } else {
    $(".tools", root).append(make("span", chosen.title));
  }
  self.canvas.addEventListener("pointermove", (event) => {
    const box = self.canvas.getBoundingClientRect();
    const { side, count } = layout(self.width);
    const hit = places(self.width)
      .map(([left, above]) => [event.clientY - box.top - above, event.clientX - box.left - left].map((at) => Math.floor((at / side) * count)))
      .find((at) => at.every((one) => one >= 0 && one < count));
    move(hit ?? null);
  });
  self.canvas.addEventListener("pointerleave", () => move(null));
  const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  self.canvas.addEventListener("keydown", (event) => {
    const step = steps[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const count = chosen.tasks.length;
    move((cell ?? [0, 0]).map((at, which) => Math.min(count - 1, Math.max(0, at + step[which]))));
  });
  self.draw();
  self.canvas.dataset.drawn = "yes";
};
