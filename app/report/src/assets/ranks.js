
// Ranks of a program of MPI over time. A row is a rank's first thread; a click on it opens
// the rank's other threads. Below it, on the same axis, efficiencies by phase.
const rankTimeline = (root, data, axis) => {
  const open = new Set();
  const order = [data.states.length - 1, ...Array(data.states.length - 1).keys()];
  const rows = () => data.ranks.flatMap((rank, index) => {
    const first = { name: `rank ${rank.rank}`, index, segments: rank.threads[0] ?? [], opens: rank.threads.length > 1 };
    if (!open.has(index)) return [first];
    return [first, ...rank.threads.slice(1).map((segments, thread) => ({ name: `thread ${thread + 1}`, index, segments, opens: false }))];
  });
  const tall = () => {
    const count = rows().length;
    return count <= 16 ? 18 : count <= 32 ? 12 : count <= 64 ? 9 : count <= 256 ? 5 : 3;
  };
  const rowAt = (y) => rows()[Math.floor((y - LANE) / tall())];
  const self = plane(root, axis, {
    height: () => LANE + tall() * rows().length,
    left: () => 78,
    paint: (self) => {
      const colours = data.states.map(self.colour);
      const [height, gap] = [tall(), tall() >= 12 ? 2 : tall() >= 9 ? 1 : 0];
      rows().forEach((row, index) => drawStates(self, row.segments, LANE + index * height, height - gap, colours, order));
      drawRowNames(self, rows().map((row) => row.name), LANE, height, gap);
    },
    describe: (self, x, y) => {
      const row = rowAt(y);
      const time = self.placeAt(x);
      const segment = row && row.segments.find((one) => one[0] <= time && time < one[1]);
      if (!segment) return "";
      return `${row.name}, ${duration(segment[0])} to ${duration(segment[1])}: ${stateWords(data.names, segment[3], null)}${row.opens ? "; a click opens its threads" : ""}`;
    },
  });
  let pressed = null;
  self.canvas.addEventListener("pointerdown", (event) => { pressed = event.clientX; });
  self.canvas.addEventListener("click", (event) => {
    if (pressed !== null && Math.abs(event.clientX - pressed) > 5) return;
    const row = rowAt(event.clientY - self.canvas.getBoundingClientRect().top);
    if (!row) return;
    if (!open.delete(row.index)) open.add(row.index);
    self.draw();
  });
};

// Efficiencies of all ranks, from one call of all of them to another.
const rankPhases = (root, data, axis) => {
  const tall = 120;
  const kinds = [["OpenMP", "measured"], ["communication", "accent"], ["load balance", "ink"]];
  const y = (share) => LANE + (1 - share) * tall;
  plane(root, axis, {
    height: () => LANE + tall + 4,
    left: () => 78,
    paint: (self) => {
      const { context, colour } = self;
      context.textAlign = "right";
      for (const share of [0, 0.5, 1]) {
        context.fillStyle = colour("rule");
        context.fillRect(self.left, y(share), self.width - self.right - self.left, 1);
        context.fillStyle = colour("soft");
        context.fillText(`${share * 100} %`, self.left - 8, y(share));
      }
      context.save();
      context.beginPath();
      context.rect(self.left, 0, self.width - self.right - self.left, self.height);
      context.clip();
      kinds.forEach(([, name], kind) => {
        context.strokeStyle = colour(name);
        context.lineWidth = 2;
        context.beginPath();
        for (const [begin, end, ...shares] of data.phases) {
          context.lineTo(self.x(begin), y(shares[kind] / 100));
          context.lineTo(self.x(end), y(shares[kind] / 100));
        }
        context.stroke();
      });
      context.restore();
      context.textAlign = "left";
      let at = self.left;
      for (const [title, name] of kinds) {
        context.fillStyle = colour(name);
        context.fillRect(at, 6, 14, 3);
        context.fillStyle = colour("soft");
        context.fillText(title, at + 18, 8);
        at += 26 + context.measureText(title).width + 18;
      }
    },
    describe: (self, x) => {
      const time = self.placeAt(x);
      const phase = data.phases.find((one) => one[0] <= time && time < one[1]);
      if (!phase) return "";
      const [begin, end, ...shares] = phase;
      return `${duration(begin)} to ${duration(end)}: ${kinds.map(([title], kind) => `${title} ${shares[kind]} %`).join(", ")}`;
    },
  });
};

// A number of bytes in words.
const bytesOf = (count) => {
  const names = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  let value = count;
  while (value >= 1024 && unit < names.length - 1) { value /= 1024; unit += 1; }
  return `${Number(value.toPrecision(3))} ${names[unit]}`;
};

// Messages by the rank that sends (rows) and the rank that receives: the darker, the more.
const rankMatrix = (root, data) => {
  const readout = $(".readout", root);
  const kinds = [
    ["bytes", 3, (value) => bytesOf(value)],
    ["messages", 2, (value) => `${value}`],
    ["waiting", 4, (value) => duration(value)],
  ];
  let kind = 0;
  const count = data.numbers.length;
  const [left, top] = [56, 34];
  const sideOf = (width) => Math.max(60, Math.min(width - left - 12, count * 28, 560));
  const self = surface(root, (width) => sideOf(width) + top + 24, () => {
    const { context, colour, width } = self;
    const side = sideOf(width);
    const size = side / count;
    const shade = shadeOf(colour);
    const [, field, words] = kinds[kind];
    const most = data.cells.reduce((sum, cell) => Math.max(sum, cell[field]), 0) || 1;
    context.fillStyle = colour("heat-0");
    context.fillRect(left, top, side, side);
    for (const cell of data.cells) {
      if (!cell[field]) continue;
      const [x, y] = [left + cell[1] * size, top + cell[0] * size];
      context.fillStyle = shade(0.1 + 0.9 * (cell[field] / most));
      context.fillRect(Math.floor(x), Math.floor(y), Math.max(1, Math.ceil(size) - (size > 8 ? 1 : 0)), Math.max(1, Math.ceil(size) - (size > 8 ? 1 : 0)));
    }
    context.fillStyle = colour("soft");
    context.textAlign = "left";
    context.fillText("to rank", left, 10);
    context.fillText("from", 2, top - 10);
    const each = [1, 2, 4, 8, 16, 32, 64].find((one) => one * size >= 18) ?? 128;
    data.numbers.forEach((number, index) => {
      if (index % each) return;
      context.textAlign = "right";
      context.fillText(`${number}`, left - 6, top + (index + 0.5) * size);
      context.textAlign = "center";
      context.fillText(`${number}`, left + (index + 0.5) * size, top - 10);
    });
    drawScale(self, left + 40, self.height - 12, "0", words(most));
  });
  $(".tools", root).append(chooser("Show", kinds.map((one) => one[0]), (index) => { kind = index; self.draw(); }));
  self.canvas.addEventListener("pointermove", (event) => {
    const box = self.canvas.getBoundingClientRect();
    const size = sideOf(self.width) / count;
    const [row, column] = [event.clientY - box.top - top, event.clientX - box.left - left].map((at) => Math.floor(at / size));
    const cell = data.cells.find((one) => one[0] === row && one[1] === column);
    const [from, to] = [data.numbers[row], data.numbers[column]];
    readout.textContent = from === undefined || to === undefined ? ""
      : cell ? `rank ${from} to ${to}: ${cell[2]} ${cell[2] === 1 ? "message" : "messages"}, ${bytesOf(cell[3])}; waits of both for each other ${duration(cell[4])}`
        : `rank ${from} to ${to}: no messages`;
  });
  self.canvas.addEventListener("pointerleave", () => { readout.textContent = ""; });
  self.draw();
  self.canvas.dataset.drawn = "yes";
};

const rankPictures = (data) => {
  const axis = timeAxis(data.begin, data.end);
  all("[data-ranks=timeline]").forEach((root) => rankTimeline(root, data, axis));
  all("[data-ranks=phases]").forEach((root) => rankPhases(root, data, axis));
  all("[data-ranks=matrix]").forEach((root) => rankMatrix(root, data.matrix));
};
