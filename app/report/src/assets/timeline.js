
// One timeline: rows are threads, colours are states. Where a thread changed state faster
// than can be drawn, the states lie on top of each other, by their share.
const timeline = (root, data) => {
  const count = data.threads.length;
  const rowHeight = count <= 8 ? 26 : count <= 16 ? 18 : count <= 32 ? 12 : count <= 64 ? 9 : 6;
  const gap = rowHeight >= 12 ? 3 : rowHeight >= 9 ? 1 : 0;
  const axis = timeAxis(data.begin, data.end);
  const stateCount = data.states.length;
  // Computing lies at the bottom, what is lost piles up on it.
  const order = [stateCount - 1, ...Array(stateCount - 1).keys()];
  plane(root, axis, {
    height: () => LANE + rowHeight * count,
    left: () => 78,
    paint: (self) => {
      drawRegions(self, data.threads[0]?.segments ?? [], data.regions, 0);
      const colours = data.states.map(self.colour);
      data.threads.forEach((thread, index) =>
        drawStates(self, thread.segments, LANE + index * rowHeight, rowHeight - gap, colours, order));
      drawRowNames(self, data.threads.map((thread) => thread.name), LANE, rowHeight, gap);
    },
    describe: (self, x, y) => {
      const thread = data.threads[Math.floor((y - LANE) / rowHeight)];
      const time = self.placeAt(x);
      const segment = thread && thread.segments.find((one) => one[0] <= time && time < one[1]);
      if (!segment) return "";
      const [begin, end, region, state, mix] = segment;
      return `${thread.name}, ${duration(begin - data.begin)} to ${duration(end - data.begin)}, ${data.regions[region] ?? "?"}: ${stateWords(data.names, state, mix)}`;
    },
  });
};
