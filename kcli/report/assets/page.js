"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const SHOWN = 10; // rows of a table at first
  // Columns whose values can be picked: only what concerns them is shown then.
  const PICKED = ["client_id", "server", "api", "error", "topic", "connection", "group_id", "address", "broker", "record"];
  const HOT = ["with_errors", "not_recovered", "lost", "unanswered", "not_granted", "not_in_sync", "behind"];
  const HOT_VALUES = ["refused", "without leader", "fenced"];
  // The column that a row's bar shows.
  const MEASURES = [
    "answers", "bytes", "exchanges", "fetched_bytes", "fetches", "rebalances", "wait_ms", "converted_bytes", "changes", "requests", "events", "records", "leads",
  ];
  // Charts of counts over time: the column with a line's name, and the one with its height.
  const COUNTS = { errors_over_time: ["error", "answers"], states_over_time: ["state", "partitions"] };
  const LIGHT = ["#2563eb", "#d9480f", "#0f9d76", "#8b3fc9", "#c29100", "#d6336c", "#0891b2", "#6b7280"];
  const DARK = ["#6ea0ff", "#ff9052", "#4bd6a8", "#c58bf2", "#e8c547", "#ff7aa8", "#4cc9e6", "#a7b0be"];
  // Ticks of counts and bytes: there is no half of one.
  const WHOLE = Array.from({ length: 16 }, (_, power) => [1, 2, 5].map((each) => each * 10 ** power)).flat();
  const LATENCIES = ["own_p99_ms", "p99_ms"];
  const narrow = matchMedia("(max-width: 40rem)");
  const picks = new Map();
  const redraws = [];
  let dark = matchMedia("(prefers-color-scheme: dark)").matches;

  const make = (tag, kind, text) => {
    const element = document.createElement(tag);
    if (kind) element.className = kind;
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const button = (kind, text, action) => {
    const made = make("button", kind, text);
    made.type = "button";
    made.onclick = action;
    return made;
  };
  const title = (name) => name.replace(/_/g, " ");

  // Values as people read them

  const number = (value, digits = 0) => value.toLocaleString("en-US", { maximumFractionDigits: digits });
  const bytes = (value) => {
    for (const [unit, name] of [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"]])
      if (value >= unit) return number(value / unit, value / unit < 10 ? 2 : value / unit < 100 ? 1 : 0) + " " + name;
    return number(value, 1) + " B";
  };
  const clock = (seconds) => new Date(seconds * 1000).toISOString().replace("T", " ").replace(/\.000Z$|Z$/, "");
  const milliseconds = (value) => number(value, value < 10 ? 3 : value < 100 ? 1 : 0) + " ms";
  // A time on an axis whose ticks are so many seconds apart.
  const when = (seconds, apart) => {
    const text = new Date(seconds * 1000).toISOString();
    if (apart >= 86400 || text.endsWith("T00:00:00.000Z")) return text.slice(5, 10);
    return text.slice(11, apart >= 60 ? 16 : apart >= 1 ? 19 : 23);
  };
  const brief = (value, format) => (format === milliseconds && value >= 1000 ? number(value / 1000) + " s" : format(value));
  const shown = (name, time, value) => {
    if (value === null) return "";
    if (time) return clock(value);
    if (typeof value !== "number") return value === "" && name === "client_id" ? "(none)" : String(value);
    if (name.endsWith("bytes") || name === "record_size") return bytes(value);
    if (name.endsWith("_ms")) return milliseconds(value);
    return number(value, 1);
  };

  // What is picked

  const fits = (columns, row) => [...picks].every(([name, value]) => {
    const at = columns.indexOf(name);
    return at < 0 || row[at] === value;
  });
  const pick = (name, value) => {
    if (picks.get(name) === value) picks.delete(name);
    else picks.set(name, value);
    const chips = document.getElementById("chips");
    showPicks(chips);
    redraws.forEach((redraw) => redraw());
    // What was pressed is gone with its table: who works by the keyboard goes on at what was picked.
    if (document.activeElement === document.body)
      (chips.children[[...picks.keys()].indexOf(name)] || chips.lastChild || document.querySelector("nav a")).focus({ preventScroll: true });
  };
  const showPicks = (chips) => {
    chips.replaceChildren(...[...picks].map(([name, value]) => {
      const chip = button("chip", `${title(name)}: ${shown(name, false, value)}  ✕`, () => pick(name, value));
      chip.title = "Show all again";
      return chip;
    }));
  };

  // Tables

  const table = (section, answer) => {
    const { columns, rows, times } = answer;
    const body = section.querySelector(".body");
    if (!rows.length) {
      body.append(make("div", "empty", body.dataset.empty));
      return;
    }
    const numeric = columns.map((_, at) => !times[at] && rows.every((row) => row[at] === null || typeof row[at] === "number"));
    const measure = columns.indexOf(MEASURES.find((name) => columns.includes(name)));
    const most = measure < 0 ? 1 : Math.max(1, ...rows.map((row) => row[measure]));
    const state = { sort: -1, sign: 1, text: "", all: false };
    const search = make("input");
    search.type = "search";
    search.placeholder = "filter";
    search.setAttribute("aria-label", "Filter rows");
    search.oninput = () => { state.text = search.value.toLowerCase(); draw(); };
    if (rows.length > 1) section.querySelector(".tools").append(search);
    const made = make("table"), heads = make("tr"), lines = make("tbody"), top = make("thead");
    const titles = columns.map((name, at) => {
      const head = make("th", numeric[at] ? "n" : "");
      head.scope = "col";
      head.append(button("", title(name), () => {
        state.sign = state.sort === at ? -state.sign : numeric[at] || times[at] ? -1 : 1;
        state.sort = at;
        draw();
      }));
      return head;
    });
    top.append(heads);
    made.append(top, lines);
    const scroll = make("div", "scroll"), under = make("div", "under"), said = make("span");
    const more = button("more", "", () => { state.all = !state.all; draw(); });
    scroll.append(made);
    under.append(said, more);
    body.append(scroll, under);

    // Where there is room for few columns: who it is, how much, what is wrong and how slow come first.
    const rank = (at) => {
      const name = columns[at];
      if (at === 0) return 0;
      if (at === measure) return 1;
      if (HOT.includes(name) && rows.some((row) => row[at] > 0)) return 2;
      return LATENCIES.includes(name) ? 3 : 4;
    };
    const every = columns.map((_, at) => at), first = [...every].sort((a, b) => rank(a) - rank(b));
    const places = () => (narrow.matches ? first : every);
    const order = (one, other) => {
      const a = one[state.sort], b = other[state.sort];
      if (a === null || b === null) return (a === null) - (b === null); // nothing stands last, either way
      return state.sign * (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));
    };
    const draw = () => {
      let chosen = rows.filter((row) => fits(columns, row));
      if (state.text)
        chosen = chosen.filter((row) => row.some((value, at) =>
          shown(columns[at], times[at], value).toLowerCase().includes(state.text)));
      if (state.sort >= 0) chosen = [...chosen].sort(order);
      heads.replaceChildren(...places().map((at) => titles[at]));
      titles.forEach((head, at) => {
        if (at === state.sort) head.setAttribute("aria-sort", state.sign > 0 ? "ascending" : "descending");
        else head.removeAttribute("aria-sort");
      });
      lines.replaceChildren(...(state.all ? chosen : chosen.slice(0, SHOWN)).map(line));
      said.textContent = chosen.length === rows.length ? "" : `${number(chosen.length)} of ${number(rows.length)} rows`;
      more.hidden = chosen.length <= SHOWN;
      more.textContent = state.all ? "Show fewer" : `Show all ${number(chosen.length)}`;
      under.hidden = more.hidden && !said.textContent;
    };
    const line = (row) => {
      const made = make("tr");
      places().forEach((at) => {
        const value = row[at];
        const name = columns[at], text = shown(name, times[at], value);
        const cell = make("td", numeric[at] ? "n" : times[at] ? "time" : "");
        if (PICKED.includes(name) && value !== null) cell.append(button("drill", text, () => pick(name, value)));
        else cell.textContent = text;
        if (text.length > 40) cell.classList.add("long");
        if (at === measure && value > 0) {
          cell.classList.add("bar");
          cell.style.setProperty("--share", `${(100 * value / most).toFixed(1)}%`);
        }
        if ((HOT.includes(name) && value > 0) || HOT_VALUES.includes(value)) cell.classList.add("hot");
        made.append(cell);
      });
      return made;
    };
    redraws.push(draw);
    draw();
  };

  // Charts

  const plots = [];
  const tip = (plot, format) => {
    const box = make("div", "tip");
    box.hidden = true;
    box.setAttribute("role", "status");
    plot.over.append(box);
    return () => {
      const at = plot.cursor.idx, left = plot.cursor.left;
      const values = at === null || at === undefined || left < 0 ? [] : plot.series.slice(1)
        .map((series, index) => ({ series, value: plot.data[index + 1][at] }))
        .filter(({ series, value }) => series.show && value !== null && value !== 0);
      box.hidden = !values.length;
      if (box.hidden) return;
      const lines = values.sort((a, b) => b.value - a.value).map(({ series, value }) => {
        const line = make("div"), name = make("span", "", series.label), mark = make("i");
        mark.style.background = series.colour;
        name.prepend(mark);
        line.append(name, make("span", "", format(value)));
        return line;
      });
      box.replaceChildren(make("b", "", clock(plot.data[0][at])), ...lines);
      const right = left > plot.over.clientWidth / 2;
      box.style.left = right ? "" : `${left + 14}px`;
      box.style.right = right ? `${plot.over.clientWidth - left + 14}px` : "";
      box.style.top = "8px";
    };
  };

  // The values of a chart by the arrow keys: those of the next time that has some.
  const walked = (plot, title) => {
    plot.over.tabIndex = 0;
    plot.over.setAttribute("role", "group");
    plot.over.setAttribute("aria-label", `${title}: values by the arrow keys`);
    const filled = (at) => plot.series.some((series, index) => index && series.show && plot.data[index][at]);
    plot.over.onkeydown = (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key], times = plot.data[0];
      if (!by) return;
      event.preventDefault();
      let at = plot.cursor.left >= 0 ? plot.cursor.idx : by > 0 ? -1 : times.length;
      do at += by; while (at in times && !filled(at));
      if (at in times) plot.setCursor({ left: plot.valToPos(times[at], "x"), top: plot.over.clientHeight / 2 });
    };
    plot.over.onblur = () => plot.setCursor({ left: -10, top: -10 });
  };

  // Another content for a box; who was at one of its buttons by the keyboard stays there.
  const renew = (box, made) => {
    const at = [...box.children].indexOf(document.activeElement);
    box.replaceChildren(...made);
    if (at >= 0) box.children[Math.min(at, box.children.length - 1)]?.focus();
  };

  // One chart over time. answer: rows of (time, key, values...); options: () => { answer, key, value, format, log }.
  const chart = (section, options) => {
    const body = section.querySelector(".body"), place = make("div", "plot"), keys = make("div", "keys");
    if (!options().answer.rows.length) {
      body.append(make("div", "empty", body.dataset.empty || "No exchange was seen."));
      return;
    }
    body.append(place, keys);
    const hidden = new Set();
    let plot = null;
    const draw = () => {
      const { answer, key, value, format, log, zero } = options();
      const { columns, rows } = answer;
      const [time, name, measured] = ["time", key, value].map((column) => columns.indexOf(column));
      const names = [...new Set(rows.map((row) => row[name]))];
      const sums = new Map(names.map((each) => [each, 0]));
      rows.forEach((row) => sums.set(row[name], sums.get(row[name]) + (row[measured] || 0)));
      names.sort((a, b) => sums.get(b) - sums.get(a) || String(a).localeCompare(String(b)));
      const first = data.first, count = Math.round((data.last - first) / data.step) + 2; // the last bucket has an end
      const xs = Array.from({ length: count }, (_, at) => first + at * data.step);
      const lines = new Map(names.map((each) => [each, new Array(count).fill(zero ? 0 : null)]));
      rows.forEach((row) => {
        const at = Math.round((row[time] - first) / data.step), value = row[measured];
        lines.get(row[name])[at] = log && value !== null ? Math.max(value, 0.001) : value;
      });
      const picked = (each) => !hidden.has(each) && (!picks.has(key) || !names.includes(picks.get(key)) || picks.get(key) === each);
      const style = getComputedStyle(root), ink = style.getPropertyValue("--soft"), grid = style.getPropertyValue("--line");
      const palette = dark ? DARK : LIGHT, em = parseFloat(style.fontSize) / 16; // of a reader who wants larger letters
      const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid }, font: `${12 * em}px system-ui, sans-serif` };
      const series = names.map((each, at) => ({
        label: String(each), colour: palette[at % palette.length], stroke: palette[at % palette.length], width: 2,
        fill: zero ? palette[at % palette.length] + "22" : undefined, show: picked(each),
        paths: zero ? uPlot.paths.stepped({ align: 1 }) : undefined,
        points: { show: !zero, size: 5, fill: palette[at % palette.length] },
      }));
      if (plot) plots.splice(plots.indexOf(plot), 1), plot.destroy();
      let move = () => {};
      plot = new uPlot({
        width: Math.max(200, place.clientWidth), height: 260,
        tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
        cursor: { sync: { key: "time" }, drag: { x: true, y: false }, points: { size: 7 } },
        scales: {
          y: log ? { distr: 3 } : { range: (_, least, most) => [0, Math.max(most || 0, zero ? 1 : 0.001) * 1.08] },
        },
        axes: [
          { ...axis, space: 84 * em, size: 50 * em, values: (_, ticks, _axis, _space, width) => ticks.map((tick) => when(tick, width)) },
          { ...axis, size: 64 * em, ...(zero ? { incrs: WHOLE } : {}), values: (_, ticks) => ticks.map((tick) => (tick === null ? "" : brief(tick, format))) },
        ],
        series: [{}, ...series],
        hooks: { setCursor: [() => move()] },
      }, [xs, ...lines.values()], place);
      move = tip(plot, format);
      walked(plot, section.querySelector("h2").textContent);
      plots.push(plot);
      renew(keys, names.map((each, at) => {
        const made = button("key", shown(key, false, each), () => {
          if (hidden.has(each)) hidden.delete(each);
          else hidden.add(each);
          draw();
        });
        const mark = make("i");
        mark.style.background = palette[at % palette.length];
        made.prepend(mark);
        made.setAttribute("aria-pressed", String(picked(each)));
        return made;
      }));
    };
    redraws.push(draw);
    new ResizeObserver(() => plot && plot.setSize({ width: Math.max(200, place.clientWidth), height: 260 })).observe(place);
    draw();
  };
  const choice = (tools, options, chosen, action) => {
    const box = make("div", "seg");
    const draw = (now) => renew(box, options.map(([value, text]) => {
      const made = button("", text, () => { draw(value); action(value); });
      made.setAttribute("aria-pressed", String(value === now));
      return made;
    }));
    draw(chosen);
    tools.append(box);
  };

  // The page

  const theme = document.getElementById("theme");
  const paint = () => {
    root.classList.toggle("dark", dark);
    theme.textContent = dark ? "☀ Light" : "☾ Dark";
    redraws.forEach((redraw) => redraw());
  };
  theme.onclick = () => { dark = !dark; paint(); };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (event) => { dark = event.matches; paint(); });
  root.classList.toggle("dark", dark);

  narrow.addEventListener("change", () => redraws.forEach((redraw) => redraw()));
  for (const section of document.querySelectorAll("section:not(.folded)")) {
    const answer = data.answers[section.id], tools = section.querySelector(".tools");
    if (COUNTS[section.id]) {
      const [key, value] = COUNTS[section.id];
      chart(section, () => ({ answer, key, value, format: (each) => number(each), zero: true }));
    } else if (section.id === "changes_over_time") {
      let shown = "records";
      if (answer.rows.length)
        choice(tools, [["records", "records"], ["bytes", "bytes"]], shown, (value) => {
          shown = value;
          redraws.forEach((redraw) => redraw());
        });
      chart(section, () => ({ answer, key: "record", value: shown, format: shown === "bytes" ? bytes : (each) => number(each), zero: true }));
    } else if (section.id === "api_over_time") {
      const state = { by: "api", value: "p99_ms" };
      const again = () => redraws.forEach((redraw) => redraw());
      if (answer.rows.length) {
        choice(tools, [["p50_ms", "p50"], ["p99_ms", "p99"], ["own_p99_ms", "p99 without waits"], ["max_ms", "max"], ["exchanges", "requests"], ["bytes", "bytes"]],
          state.value, (value) => { state.value = value; again(); });
        choice(tools, [["api", "by API"], ["server", "by broker"]], state.by, (by) => { state.by = by; again(); });
      }
      chart(section, () => ({
        answer: state.by === "api" ? answer : data.answers.broker_over_time, key: state.by, value: state.value,
        format: state.value === "bytes" ? bytes : state.value === "exchanges" ? (value) => number(value) : milliseconds,
        log: state.value.endsWith("_ms"), zero: !state.value.endsWith("_ms"),
      }));
    } else {
      table(section, answer);
    }
  }
  paint();
})();
