
// Several programs on one machine: a row for each program with its regions, one for each
// core with whoever has it.
const sharing = (root, data) => {
  const axis = timeAxis(data.begin, data.end);
  const laneHeight = 30;
  const rowHeight = data.cores.length <= 8 ? 22 : data.cores.length <= 32 ? 12 : 6;
  const gap = rowHeight >= 12 ? 3 : 1;
  const below = data.programs.length * laneHeight + 8;
  const found = (spans, time) => spans.find((one) => one[0] <= time && time < one[1]);
  const drawLane = (self, program, top, colour) => {
    const { context } = self;
    // One rectangle for what lies within a pixel of each other.
    let run = null;
    const flush = () => {
      if (!run) return;
      const from = Math.max(self.left, run[0]);
      const to = Math.min(self.width - self.right, Math.max(run[1], run[0] + 0.5));
      if (to <= from) return;
      context.fillStyle = colour;
      context.fillRect(from, top + laneHeight - 12, to - from, 6);
    };
    for (const [begin, end] of program.spans) {
      const [from, to] = [self.x(begin), self.x(end)];
      if (to < self.left) continue;
      if (from > self.width - self.right) break;
      if (run && from - run[1] < 0.5) run[1] = to;
      else { flush(); run = [from, to]; }
    }
    flush();
    context.save();
    context.translate(0, top);
    drawRegions(self, program.spans, program.regions, -1);
    context.restore();
  };
  plane(root, axis, {
    height: () => below + rowHeight * data.cores.length,
    left: (width) => Math.min(130, width / 4),
    paint: (self) => {
      const colours = data.colours.map(self.colour);
      data.programs.forEach((program, index) => drawLane(self, program, index * laneHeight, colours[index]));
      data.cores.forEach((core, index) =>
        drawStates(self, core.segments, below + index * rowHeight, rowHeight - gap, colours, [...colours.keys()]));
      drawRowNames(self, data.programs.map((program) => program.name), 0, laneHeight, 8);
      drawRowNames(self, data.cores.map((core) => core.name), below, rowHeight, gap);
    },
    describe: (self, x, y) => {
      const time = self.placeAt(x);
      const when = duration(time - data.begin);
      const program = data.programs[Math.floor(y / laneHeight)];
      if (program && y < below) {
        const span = found(program.spans, time);
        if (!span) return `${program.name}, ${when}: outside of regions`;
        const [begin, end, region, threads, instances] = span;
        const times = instances > 1 ? `, ${instances} executions` : "";
        return `${program.name}, ${duration(begin - data.begin)} to ${duration(end - data.begin)}: ${program.regions[region] ?? "?"}, ${threads} thread${threads === 1 ? "" : "s"}${times}`;
      }
      const core = data.cores[Math.floor((y - below) / rowHeight)];
      if (!core) return "";
      const segment = found(core.segments, time);
      const names = data.programs.map((one) => one.name);
      return `${core.name}, ${when}: ${segment ? stateWords(names, segment[3], segment[4]) : "given to no region"}`;
    },
  });
};
