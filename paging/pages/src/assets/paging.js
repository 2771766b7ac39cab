
// Pictures of paging.

// Counts over equal steps, of which any stretch's sum is known.
const recordOf = (packed, begin, step) => {
  const sums = [0];
  for (const one of packed) {
    const last = sums[sums.length - 1];
    if (one < 0) for (let zeros = 0; zeros < -one; zeros += 1) sums.push(last);
    else sums.push(last + one);
  }
  const at = (place) => {
    const steps = Math.min(Math.max((place - begin) / step, 0), sums.length - 1);
    const whole = Math.floor(steps);
    const next = Math.min(whole + 1, sums.length - 1);
    return sums[whole] + (sums[next] - sums[whole]) * (steps - whole);
  };
  return { at, between: (from, to) => at(to) - at(from), total: sums[sums.length - 1] };
};

const amountOf = (value, bytes, step) => {
  const units = bytes ? [[2 ** 40, " TiB"], [2 ** 30, " GiB"], [2 ** 20, " MiB"], [2 ** 10, " KiB"]] : [[1e12, " T"], [1e9, " G"], [1e6, " M"], [1e3, " k"]];
  if (step && value === 0) return "0";
  const [scale, unit] = units.find(([least]) => Math.abs(step ?? value) >= least) ?? [1, bytes ? " B" : ""];
  return `${digits(value / scale, step && step / scale)}${unit}`;
};

// Values in a box: its scale begins at 0 and ends at a round number, in powers of `base`.
const boxOf = (self, top, tall, most, label, title, base = 1000) => {
  const { context, colour } = self;
  const unit = base ** Math.max(0, Math.floor(Math.log(Math.max(most / 3, 1)) / Math.log(base)));
  const step = roundStep(Math.max(most / 3 / unit, 1e-300)) * unit;
  const end = Math.max(step, Math.ceil(most / step - 1e-9) * step);
  const y = (value) => top + tall - (Math.min(value, end) / end) * tall;
  context.textAlign = "right";
  for (let tick = 0; tick <= end * (1 + 1e-9); tick += step) {
    context.fillStyle = colour("rule");
    context.fillRect(self.left, Math.round(y(tick)), self.width - self.left - self.right, 1);
    context.fillStyle = colour("soft");
    context.fillText(label(tick, step), self.left - 8, y(tick));
  }
  if (title) {
    context.fillStyle = colour("soft");
    context.textAlign = "left";
    context.fillText(title, self.left, top - 9);
  }
  return y;
};

const paging = (data) => {
  const [begin, end] = data.span;
  const root = (kind) => $(`[data-paging="${kind}"]`);
  const axis = timeAxis(begin, end, data.phases?.ends ?? null);
  const wide = (self, most) => Math.max(64, Math.min(most, self * 0.25));
  const spans = data.region_spans.map(([region, from, to]) => [from, to, region]);
  const regionAt = (ns) => {
    const found = spans.find(([from, to]) => from <= ns && ns < to);
    return found ? `, ${data.regions[found[2]]}` : "";
  };
  const barrierAt = (phase) => {
    const name = data.phases?.barriers[data.phases.names[phase]];
    return name ? `, ends at ${name}` : "";
  };
  // Regions, and upright lines where barriers were passed.
  const drawHead = (self, name, alpha) => {
    if (!axis.logical || spans.length > 0) drawRegions(self, spans, data.regions, -1);
    if (!data.phases) return;
    const { context, colour } = self;
    const seen = data.phases.ends.slice(0, -1).map(self.x).filter((x) => x >= self.left && x <= self.width - self.right);
    if (seen.length > self.columns() / 6) return;
    context.fillStyle = colour(name);
    context.globalAlpha = alpha;
    for (const x of seen) context.fillRect(Math.round(x), LANE - 3, 1, self.height - 26 - LANE + 3);
    context.globalAlpha = 1;
  };
  const unit = (counter) => (axis.logical ? " a phase" : "/s");
  // A layer's mean in a column of pixels: per second, or per phase.
  const meanIn = (layer, from, to) => {
    const sum = layer.between(from, to);
    return to > from ? (axis.logical ? sum / (to - from) : (sum * 1e9) / (to - from)) : 0;
  };
  const columnsOf = (self, layer) => {
    const count = self.columns();
    const values = new Float64Array(count);
    for (let column = 0; column < count; column += 1) {
      values[column] = meanIn(layer, self.placeAt(self.left + column), self.placeAt(self.left + column + 1));
    }
    return values;
  };
  const records = new Map();
  const known = (key, make) => {
    if (!records.has(key)) records.set(key, make());
    return records.get(key);
  };
  const wallRecord = (record) => known(record, () => recordOf(record.counts, begin, record.step));
  const layersOf = (counter) => counter.layers.map(({ state, record, phases }) => ({
    layer: axis.logical && phases ? known(phases, () => recordOf(phases, 0, 1)) : wallRecord(record),
    colour: state === null ? "accent" : data.states[state],
    name: state === null ? "all states" : data.state_names[state],
  }));

  let counter = data.counters[0];
  const titles = data.counters.map((one) => one.title);
  const choosers = [];
  const chooseCounter = () => {
    const one = chooser("Counter", titles, (index) => {
      counter = data.counters[index];
      choosers.forEach((select) => { select.value = String(index); });
      axis.planes.forEach((draw) => draw());
    });
    choosers.push($("select", one));
    return one;
  };
  const axisChoosers = [];
  const chooseAxis = () => {
    const one = chooser("Time", ["wall", "logical (phases)"], (index) => {
      axisChoosers.forEach((select) => { select.value = String(index); });
      axis.setLogical(index === 1);
    });
    axisChoosers.push($("select", one));
    return one;
  };
  const drawProfile = (root) => {
    const top = LANE + 16;
    const tall = 190;
    if (data.counters.length > 1) $(".tools", root).append(chooseCounter());
    if (axis.hasPhases) $(".tools", root).append(chooseAxis());
    plane(root, axis, {
      height: () => top + tall,
      left: () => 78,
      paint: (self) => {
        const { context, colour } = self;
        drawHead(self, "rule", 1);
        const layers = layersOf(counter).map((one) => ({ ...one, values: columnsOf(self, one.layer) }));
        const sums = new Float64Array(self.columns());
        layers.forEach(({ values }) => values.forEach((value, column) => { sums[column] += value; }));
        const most = sums.reduce((a, b) => Math.max(a, b), 0);
        const y = boxOf(self, top, tall, most, (value, step) => amountOf(value, counter.bytes, step), `${counter.title}${unit()}`, counter.bytes ? 1024 : 1000);
        const below = new Float64Array(self.columns());
        for (const { values, colour: name } of layers) {
          context.fillStyle = colour(name);
          context.beginPath();
          context.moveTo(self.left, y(below[0]));
          for (let column = 0; column < values.length; column += 1) {
            const height = y(below[column] + values[column]);
            context.lineTo(self.left + column, height);
            context.lineTo(self.left + column + 1, height);
          }
          for (let column = values.length - 1; column >= 0; column -= 1) {
            const height = y(below[column]);
            context.lineTo(self.left + column + 1, height);
            context.lineTo(self.left + column, height);
          }
          context.fill();
          values.forEach((value, column) => { below[column] += value; });
        }
        if (axis.logical) return;
        context.fillStyle = colour("measured");
        for (const [from, to] of counter.all.peaks) {
          const x = self.x((from + to) / 2);
          if (x < self.left || x > self.width - self.right) continue;
          const column = Math.min(sums.length - 1, Math.floor(x - self.left));
          context.beginPath();
          context.arc(x, Math.max(top, y(sums[column])) - 5, 2.5, 0, 7);
          context.fill();
        }
      },
      describe: (self, x) => {
        const [from, to] = [self.placeAt(x - 0.5), self.placeAt(x + 0.5)];
        const parts = layersOf(counter)
          .map(({ layer, name }) => [name, meanIn(layer, from, to)])
          .filter(([, value]) => value > 0)
          .map(([name, value]) => `${name} ${amountOf(value, counter.bytes)}${unit()}`);
        const where = axis.logical ? `phase ${Math.floor(from) + 1}${barrierAt(Math.floor(from))}` : `${duration(from)}${regionAt(from)}`;
        return `${where}: ${parts.join(", ") || "nothing"}`;
      },
    });
  };

  const drawLanes = (root) => {
    const count = data.lanes.length;
    const rowHeight = count <= 8 ? 34 : count <= 16 ? 24 : count <= 32 ? 16 : 11;
    const gap = rowHeight >= 16 ? 3 : 1;
    const order = data.states.map((_, state) => state);
    if (data.counters.length > 1) $(".tools", root).append(chooseCounter());
    if (axis.hasPhases) $(".tools", root).append(chooseAxis());
    const rateOf = (task) => (count === 1 ? { record: counter?.all } : counter?.tasks.find((one) => one.task === task));
    plane(root, axis, {
      height: () => LANE + rowHeight * count,
      left: (width) => wide(width, 150),
      paint: (self) => {
        const { context, colour } = self;
        const colours = data.states.map(colour);
        data.lanes.forEach((segments, task) => {
          const top = LANE + task * rowHeight;
          const tall = rowHeight - gap;
          drawStates(self, segments, top, tall, colours, order);
          const found = rateOf(task);
          if (!found?.record || tall < 13) return;
          const record = wallRecord(found.record);
          const values = new Float64Array(self.columns());
          for (let column = 0; column < values.length; column += 1) {
            const [from, to] = [0, 1].map((more) => wallAt(self.placeAt(self.left + column + more)));
            values[column] = to > from ? record.between(from, to) / (to - from) : 0;
          }
          const most = values.reduce((a, b) => Math.max(a, b), 0);
          if (most <= 0) return;
          context.beginPath();
          values.forEach((value, column) => {
            const y = top + tall - 1 - (value / most) * (tall - 3);
            if (column === 0) context.moveTo(self.left, y);
            else context.lineTo(self.left + column, y);
          });
          context.strokeStyle = colour("paper");
          context.lineWidth = 3;
          context.stroke();
          context.strokeStyle = colour("ink");
          context.lineWidth = 1.2;
          context.stroke();
        });
        drawHead(self, "ink", 0.35);
        drawRowNames(self, data.tasks, LANE, rowHeight, gap);
      },
      describe: (self, x, y) => {
        const task = Math.floor((y - LANE) / rowHeight);
        const time = wallAt(self.placeAt(x));
        const segment = data.lanes[task]?.find((one) => one[0] <= time && time < one[1]);
        if (!segment) return "";
        const [from, to, , state, mix] = segment;
        const found = rateOf(task);
        const rate = found?.record ? `; ${counter.title.toLowerCase()} ${amountOf((wallRecord(found.record).between(time - found.record.step / 2, time + found.record.step / 2) * 1e9) / found.record.step, counter.bytes)}/s` : "";
        return `${data.tasks[task]}, ${duration(from)} to ${duration(to)}${regionAt(time)}: ${stateWords(data.state_names, state, mix)}${rate}`;
      },
    });
  };
  // The moment at a place of the axis.
  const edges = data.phases ? [begin, ...data.phases.ends.slice(0, -1), end] : [];
  const wallAt = (place) => {
    if (!axis.logical) return place;
    const phase = Math.min(Math.max(Math.floor(place), 0), edges.length - 2);
    return edges[phase] + (edges[phase + 1] - edges[phase]) * Math.min(place - phase, 1);
  };

  // Pictures in wall time alone have an axis of their own, which follows.
  const wallAxis = timeAxis(begin, end);
  const follow = (from, to) => {
    if (from.logical) return;
    if (from.view[0] !== to.view[0] || from.view[1] !== to.view[1]) to.setView(...from.view);
  };
  axis.planes.push(() => follow(axis, wallAxis));
  wallAxis.planes.push(() => { if (!axis.logical) follow(wallAxis, axis); });

  const drawPanels = (root) => {
    const tall = 92;
    const space = 26;
    const of = { counter: 0, task: 0 };
    const chosen = () => data.counters[of.counter];
    const recordFor = () => {
      if (of.task === 0) return chosen().all;
      return chosen().tasks.find((one) => one.task === of.task - 1)?.record;
    };
    let draw = () => {};
    const tools = $(".tools", root);
    if (data.tasks.length > 0 && data.counters.some((one) => one.tasks.length > 0)) {
      tools.append(chooser("Task", ["all tasks", ...data.tasks], (index) => { of.task = index; draw(); }));
    }
    if (data.counters.length > 1) tools.append(chooser("Counter", titles, (index) => { of.counter = index; draw(); }));
    const self = plane(root, wallAxis, {
      height: () => 3 * (tall + space),
      left: () => 78,
      paint: (self) => {
        const { context, colour } = self;
        const record = recordFor();
        if (!record) {
          context.fillStyle = colour("soft");
          context.textAlign = "left";
          context.fillText("This task counted none.", self.left, space);
          return;
        }
        const counts = wallRecord(record);
        const columns = self.columns();
        const at = (column) => self.placeAt(self.left + column);
        const rate = (column) => (counts.between(at(column), at(column + 1)) * 1e9) / (at(column + 1) - at(column));
        const overlap = (column, from, to) => Math.max(0, Math.min(at(column + 1), to) - Math.max(at(column), from));
        // Within kept peaks the record, elsewhere the background.
        const filtered = (column) => {
          const length = at(column + 1) - at(column);
          let within = 0;
          let sum = 0;
          for (const [from, to] of record.peaks) {
            const part = overlap(column, from, to);
            if (part <= 0) continue;
            within += part;
            sum += counts.between(Math.max(at(column), from), Math.min(at(column + 1), to)) * 1e9;
          }
          const beside = Math.max(0, overlap(column, ...record.life) - within);
          return (sum + beside * record.background) / length;
        };
        const label = (value, step) => amountOf(value, chosen().bytes, step);
        const panels = [
          ["counter", (column) => counts.at(at(column + 1)), "accent", false],
          ["rate, per second", rate, "ink", true],
          [`skyline: ${record.peaks.length} peaks over the background of ${label(record.background)}/s`, filtered, "measured", true],
        ];
        panels.forEach(([title, of, name, filled], panel) => {
          const top = space - 6 + panel * (tall + space);
          const values = Array.from({ length: columns }, (_, column) => of(column));
          const y = boxOf(self, top, tall, values.reduce((a, b) => Math.max(a, b), 0), label, title, chosen().bytes ? 1024 : 1000);
          context.beginPath();
          context.moveTo(self.left, y(filled ? 0 : values[0]));
          values.forEach((value, column) => {
            context.lineTo(self.left + column, y(value));
            context.lineTo(self.left + column + 1, y(value));
          });
          if (filled) {
            context.lineTo(self.left + columns, y(0));
            context.fillStyle = colour(name);
            context.fill();
          } else {
            context.strokeStyle = colour(name);
            context.lineWidth = 1.6;
            context.stroke();
          }
        });
      },
      describe: (self, x) => {
        const record = recordFor();
        if (!record) return "";
        const counts = wallRecord(record);
        const [from, to] = [self.placeAt(x - 0.5), self.placeAt(x + 0.5)];
        const label = (value) => amountOf(value, chosen().bytes);
        const peak = record.peaks.find(([first, last]) => first <= to && from <= last);
        return `${duration(from)}${regionAt(from)}: ${label(counts.at(from))} until then, ${label((counts.between(from, to) * 1e9) / (to - from))}/s${peak ? `, in a peak of up to ${label(peak[2])}/s` : ""}`;
      },
    });
    ({ draw } = self);
  };

  if (root("profile")) drawProfile(root("profile"));
  if (root("lanes")) drawLanes(root("lanes"));
  if (root("panels")) drawPanels(root("panels"));
  if (root("heat")) heatMap(root("heat"), data.heat, wallAxis);
  if (root("relations")) relations(root("relations"), data.relations);
};

sections.paging = paging;
