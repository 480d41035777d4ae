"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const words = data.words;
  const pageSize = 100;

  // el makes an element; texts become text nodes and nothing else.
  const el = (name, attrs, ...children) => {
    const e = document.createElement(name);
    for (const [k, v] of Object.entries(attrs || {})) {
      if (k === "on") for (const [type, fn] of Object.entries(v)) e.addEventListener(type, fn);
      else if (v !== undefined && v !== false) e.setAttribute(k, v === true ? "" : v);
    }
    for (const c of children) if (c !== undefined) e.append(c);
    return e;
  };

  // Light and dark.
  const root = document.documentElement;
  const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.getElementById("theme").addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    redraw();
  });
  document.getElementById("print").addEventListener("click", () => print());

  // Copying of filters and commands.
  for (const b of document.querySelectorAll("button.copy")) {
    b.addEventListener("click", () => {
      const code = b.previousElementSibling, old = b.textContent;
      const done = () => { b.textContent = words.copied; setTimeout(() => { b.textContent = old; }, 1500); };
      const select = () => { const r = document.createRange(); r.selectNodeContents(code); const s = getSelection(); s.removeAllRanges(); s.addRange(r); };
      if (navigator.clipboard) navigator.clipboard.writeText(code.textContent).then(done, select);
      else { select(); if (document.execCommand("copy")) done(); }
    });
  }

  // Tables: sorted and filtered as data, drawn a page at a time.
  const tables = {};
  const isID = /^[FD][0-9]+$/;
  const kinds = { figures: "long", name: "long", client: "wrap", server: "wrap", where: "wrap", frames: "wrap", community: "wrap", ja4: "wrap" };

  const cell = (value, col) => {
    const td = el("td", { class: col.number ? "num" : kinds[col.key] });
    if (col.key === "diagnosis") {
      String(value).split(" ").filter((id) => isID.test(id)).forEach((id, i) => { if (i) td.append(" "); td.append(el("a", { href: "#" + id }, id)); });
    } else if (col.key === "id") {
      td.append(el("a", { href: "#" + value }, value));
    } else td.append(String(value));
    return td;
  };

  const makeTable = (box) => {
    const name = box.dataset.table, cols = data.columns[name];
    const rows = data[name].map((r) => ({ r, text: r.join(" ").toLowerCase() }));
    const diagnosed = cols.findIndex((c) => c.key === "diagnosis");
    const state = { sort: -1, down: false, shown: pageSize, list: rows };
    const used = cols.map((c, i) => rows.some((x) => x.r[i] !== "" && x.r[i] !== 0));
    const tbody = el("tbody");
    const status = el("span", { role: "status", "aria-live": "polite" });
    const more = el("button", { type: "button", on: { click: () => { state.shown += 10 * pageSize; draw(); } } });
    const search = el("input", { type: "search", placeholder: words.filter, "aria-label": words.filter, on: { input: () => { state.shown = pageSize; apply(); } } });
    const only = el("input", { type: "checkbox", on: { change: () => { state.shown = pageSize; apply(); } } });
    const heads = cols.map((c, i) => el("th", { scope: "col", class: c.number ? "num" : undefined },
      el("button", { type: "button", on: { click: () => sortBy(i) } }, c.name)));

    const apply = () => {
      const terms = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      let list = rows.filter((x) => terms.every((t) => x.text.includes(t)) && (!only.checked || x.r[diagnosed] !== ""));
      if (state.sort >= 0) {
        const i = state.sort, sign = state.down ? -1 : 1, number = cols[i].number;
        list = list.slice().sort((a, b) => sign * (number ? a.r[i] - b.r[i] : String(a.r[i]).localeCompare(String(b.r[i]), undefined, { numeric: true })));
      }
      state.list = list;
      draw();
    };
    const sortBy = (i) => {
      state.down = state.sort === i ? !state.down : cols[i].number;
      state.sort = i;
      heads.forEach((h, k) => { if (k === i) h.setAttribute("aria-sort", state.down ? "descending" : "ascending"); else h.removeAttribute("aria-sort"); });
      apply();
    };
    const draw = () => {
      const part = document.createDocumentFragment();
      for (const x of state.list.slice(0, state.shown)) {
        const tr = el("tr", { id: name === "findings" ? x.r[0] : undefined });
        cols.forEach((c, i) => { if (used[i]) tr.append(cell(x.r[i], c)); });
        part.append(tr);
      }
      tbody.replaceChildren(part);
      const n = Math.min(state.shown, state.list.length);
      status.textContent = words.of.replace("{n}", n).replace("{all}", state.list.length);
      more.textContent = words.more.replace("{n}", Math.min(10 * pageSize, state.list.length - n));
      more.hidden = n >= state.list.length;
    };
    const reveal = (id) => {
      const at = state.list.findIndex((x) => x.r[0] === id);
      if (at < 0) { search.value = ""; only.checked = false; apply(); }
      const i = state.list.findIndex((x) => x.r[0] === id);
      if (i < 0) return;
      if (i >= state.shown) { state.shown = i + 1; draw(); }
      const tr = document.getElementById(id);
      tbody.querySelectorAll(".here").forEach((t) => t.classList.remove("here"));
      tr.classList.add("here");
      tr.scrollIntoView({ block: "center" });
    };

    if (rows.length === 0) { box.append(el("p", {}, words.none)); return; }
    const title = box.parentElement.querySelector("h2").textContent;
    box.append(
      el("div", { class: "controls" }, search, el("label", {}, only, " " + words.onlyBad), status),
      el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title },
        el("table", {}, el("thead", {}, el("tr", {}, ...heads.filter((_, i) => used[i]))), tbody)),
      more);
    const lost = cols.findIndex((c) => c.key === "lost");
    if (lost >= 0) sortBy(lost); else apply();
    tables[name] = { reveal };
  };
  document.querySelectorAll("[data-table]").forEach(makeTable);

  const toHash = () => {
    const id = location.hash.slice(1);
    if (/^F[0-9]+$/.test(id) && tables.findings) tables.findings.reveal(id);
  };
  addEventListener("hashchange", toHash);
  document.addEventListener("click", (e) => { // the same link a second time
    const a = e.target.closest && e.target.closest("a[href^='#F']");
    if (a && a.getAttribute("href") === location.hash) toHash();
  });

  // Charts.
  const colour = (name) => getComputedStyle(root).getPropertyValue("--" + name).trim();
  const charts = [];
  const si = (v) => {
    const a = Math.abs(v);
    if (a >= 1e9) return +(v / 1e9).toPrecision(4) + "G";
    if (a >= 1e6) return +(v / 1e6).toPrecision(4) + "M";
    if (a >= 1e4) return +(v / 1e3).toPrecision(4) + "k";
    return String(+v.toPrecision(5));
  };
  const axes = (unit) => {
    const base = { stroke: colour("dim"), grid: { stroke: colour("line"), width: 0.5 }, ticks: { stroke: colour("line"), width: 0.5 } };
    return [
      { ...base, values: (_, v) => v.map((x) => +x.toFixed(6) + " " + words.seconds) },
      { ...base, size: 64, label: unit || undefined, labelSize: 18, labelFont: "11px system-ui, sans-serif", labelGap: 0, values: (_, v) => v.map((x) => si(x)) },
    ];
  };
  const line = (label, c, opts) => ({ label, stroke: colour(c), width: 1.4, spanGaps: true, points: { show: false }, value: (_, v) => v == null ? "" : si(v), ...opts });
  const dots = (label, c) => line(label, c, { paths: () => null, points: { show: true, size: 4, fill: colour(c), stroke: colour(c) } });

  const chart = (box, title, height, series, columns, unit, hooks) => {
    if (columns[0].length === 0 || !columns.slice(1).some((c) => c.some((v) => v != null && v !== 0))) return;
    const holder = el("div", { role: "img", "aria-label": title + ": " + series.map((s) => s.label).join(", ") });
    box.append(el("section", { class: "chart" }, el("h4", {}, title, el("span", { class: "hint" }, words.zoom)), holder));
    const width = () => root.dataset.paper ? (box.className === "small" ? 190 : 630) : Math.max(280, holder.clientWidth || box.clientWidth - 20);
    const u = new uPlot({
      width: width(), height, series: [{ label: words.seconds, value: (_, v) => v == null ? "" : v.toFixed(6) }, ...series],
      scales: { x: { time: false } }, axes: axes(unit), hooks: hooks || {}, cursor: { drag: { x: true, y: true, uni: 30 }, sync: { key: box.dataset.sync } },
      legend: { live: true },
    }, columns, holder);
    new ResizeObserver(() => { const w = width(); if (Math.abs(w - u.width) > 2) u.setSize({ width: w, height }); }).observe(holder);
    return u;
  };

  const stepped = uPlot.paths.stepped({ align: 1 });

  // A stevens graph as tcptrace draws it: each segment from its first to its
  // last byte, below it what is acknowledged, above it where the window ends.
  const sequence = (box, t, dir) => {
    const n = t.t.length, end = Array(n).fill(null), ack = Array(n).fill(null), edge = Array(n).fill(null), again = Array(n).fill(null);
    let sent = 0;
    for (let i = 0; i < n; i++) {
      if (t.dir[i] === dir) {
        if (t.len[i] > 0) { sent++; (t.again[i] ? again : end)[i] = t.seq[i] + t.len[i]; }
      } else if (t.ack[i] > 0) { ack[i] = t.ack[i]; edge[i] = t.ack[i] + t.win[i]; }
    }
    if (sent < 2) return;
    // A window that is far above everything would flatten the rest.
    let top = 0;
    for (let i = 0; i < n; i++) top = Math.max(top, end[i] || 0, again[i] || 0, ack[i] || 0);
    const near = edge.some((v) => v != null && v < top * 2);
    const strokes = (u) => {
      const c = u.ctx;
      c.save();
      c.beginPath(); c.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height); c.clip();
      for (let i = 0; i < n; i++) {
        if (t.dir[i] !== dir || t.len[i] === 0) continue;
        const x = u.valToPos(t.t[i], "x", true), a = u.valToPos(t.seq[i], "y", true), b = u.valToPos(t.seq[i] + t.len[i], "y", true);
        c.strokeStyle = colour(t.again[i] ? "again" : "client");
        c.lineWidth = t.again[i] ? 3 : 2;
        c.beginPath(); c.moveTo(x, a); c.lineTo(x, Math.min(b, a - 2)); c.stroke();
      }
      c.restore();
    };
    const who = dir === 0 ? words.client + " → " + words.server : words.server + " → " + words.client;
    const series = [dots(words.sent, "client"), dots(words.again, "again"), line(words.acked, "ack", { paths: stepped })];
    const columns = [t.t, end, again, ack];
    if (near) { series.push(line(words.allowed, "edge", { paths: stepped })); columns.push(edge); }
    return chart(box, words.sequence.replace("{who}", who), 340, series, columns, "B", { draw: [strokes] });
  };

  const pick = (t, dir, column, min) => t[column].map((v, i) => t.dir[i] === dir && v >= min ? v : null);

  const draw = (box) => {
    const t = data.traces[box.dataset.trace];
    if (!t || box.dataset.drawn) return;
    box.dataset.drawn = "1";
    box.dataset.sync = box.dataset.trace;
    const add = (u) => { if (u) charts.push(u); };
    add(sequence(box, t, t.main));
    add(sequence(box, t, 1 - t.main));
    const small = el("div", { class: "small" });
    small.dataset.sync = box.dataset.trace;
    box.append(small);
    // A sample in a frame of one side is of the other side's data.
    add(chart(small, words.rtt, 200, [dots(words.client, "client"), dots(words.server, "server")], [t.t, pick(t, 1, "rtt", 1e-6), pick(t, 0, "rtt", 1e-6)], "ms"));
    const times = t.rates[0].map((_, i) => i * t.step);
    add(chart(small, words.rate, 200, [line(words.client, "client", { paths: stepped, fill: undefined }), line(words.server, "server", { paths: stepped })], [times, t.rates[0], t.rates[1]], "Mbit/s"));
    add(chart(small, words.window, 200, [
      line(words.client + ": " + words.win, "client", { paths: stepped }), line(words.server + ": " + words.win, "server", { paths: stepped }),
      line(words.client + ": " + words.flight, "again", { dash: [4, 3], paths: stepped }), line(words.server + ": " + words.flight, "edge", { dash: [4, 3], paths: stepped })],
      [t.t, pick(t, 0, "win", 0), pick(t, 1, "win", 0), pick(t, 0, "flight", 0), pick(t, 1, "flight", 0)], "B"));
  };
  const boxes = [...document.querySelectorAll("[data-trace]")];
  const redraw = () => {
    charts.splice(0).forEach((u) => u.destroy());
    for (const b of boxes) if (b.dataset.drawn) { delete b.dataset.drawn; b.replaceChildren(); draw(b); }
  };
  const watch = new IntersectionObserver((list) => { for (const e of list) if (e.isIntersecting) draw(e.target); }, { rootMargin: "600px" });
  boxes.forEach((b) => watch.observe(b));
  // On paper: all charts, in light colours, as wide as a sheet.
  addEventListener("beforeprint", () => { root.dataset.paper = "1"; boxes.forEach(draw); redraw(); });
  addEventListener("afterprint", () => { delete root.dataset.paper; redraw(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

  if (location.hash) toHash();
})();
