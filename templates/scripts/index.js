"use strict";
/* The table of subjects: search, filters, sorting and pages, all in this file and without a network.

   Subjects come in columns, sorted by id. A view is a list of places in those columns. Sorting
   counts instead of comparing: every column knows the rank of each of its values, so that one more
   key costs one more pass, equal values keep their order, and missing values come last in both
   directions. The whole state is in the address, after the #. */
(() => {
  const data = JSON.parse(document.getElementById("subjects-data").textContent);
  const ROWS = 50;
  const KEYS = 3;
  const QUIET = 350;
  const find = (id) => document.getElementById(id);
  const whole = new Intl.NumberFormat("en");

  const FACETS = { decision: "Decision", status: "Status", grade: "Caveat" };
  const COLUMNS = {
    id: { title: "Subject", low: "first to last", high: "last to first" },
    decision: { title: "Decision", low: "first to last", high: "last to first" },
    status: { title: "Status", low: "first to last", high: "last to first" },
    options: { title: "Options", low: "fewest first", high: "most first" },
    cost: { title: "Cheapest", low: "lowest first", high: "highest first" },
    margin: { title: "Margin", low: "lowest first", high: "highest first" },
    grade: { title: "Caveat", low: "holds first", high: "reverses first" },
    letter: { title: "Letter", low: "with a letter first", high: "without a letter first" },
  };

  /* ------------------------------------------------------------------ ranks and order */

  const ranks = {};

  function ranksOf(column) {
    if (!ranks[column]) ranks[column] = ranked(column);
    return ranks[column];
  }

  // The rank of every row in a column, how many ranks there are, and -1 where a value is missing.
  function ranked(column) {
    if (column === "id") {
      return { of: Int32Array.from(data.id, (_, row) => row), count: data.count };
    }
    if (column === "letter") {
      return { of: Int32Array.from(data.letter, (mark) => 1 - Number(mark)), count: 2 };
    }
    if (column in FACETS) {
      const { words, codes } = data[column];
      const missing = words.map((name) => data.missing.includes(name));
      const rank = (code) => (missing[code] ? -1 : code);
      return { of: Int32Array.from(codes, rank), count: words.length };
    }
    const values = column === "options" ? data.options : data[column].values;
    const known = Float64Array.from(values.filter((value) => value !== null)).sort();
    const places = new Map();
    for (const value of known) if (!places.has(value)) places.set(value, places.size);
    const rank = (value) => (value === null ? -1 : places.get(value));
    return { of: Int32Array.from(values, rank), count: places.size };
  }

  function sortedBy(order, { column, down }) {
    const { of, count } = ranksOf(column);
    const slot = (row) => (of[row] < 0 ? count : down ? count - 1 - of[row] : of[row]);
    const next = new Int32Array(count + 2);
    for (const row of order) next[slot(row) + 1] += 1;
    for (let place = 1; place < next.length; place += 1) next[place] += next[place - 1];
    const sorted = new Int32Array(order.length);
    for (const row of order) sorted[next[slot(row)]++] = row;
    return sorted;
  }

  /* ------------------------------------------------------------------ search and filters */

  const names = data.id.map((name) => name.toLowerCase());

  // A row is found if each term is in its id or in one of its words.
  function searched(query) {
    const found = new Uint8Array(data.count).fill(1);
    for (const term of query.toLowerCase().split(/\s+/).filter(Boolean)) {
      const hits = new Uint8Array(data.count);
      for (const facet in FACETS) {
        const { words, codes } = data[facet];
        const hit = words.map((word) => word.toLowerCase().includes(term));
        if (hit.includes(true)) codes.forEach((code, row) => (hits[row] |= hit[code]));
      }
      for (let row = 0; row < data.count; row += 1) {
        if (!hits[row] && !names[row].includes(term)) found[row] = 0;
      }
    }
    return found;
  }

  // The rows that pass all filters, and how many rows each word of a filter would leave.
  function filtered(state) {
    const found = searched(state.query);
    const facets = Object.keys(FACETS).map((facet) => {
      const { words, codes } = data[facet];
      const chosen = state[facet];
      const passes = words.map((word) => chosen.size === 0 || chosen.has(word));
      return { codes, passes, counts: new Int32Array(words.length) };
    });
    const rows = new Int32Array(data.count);
    let passing = 0;
    for (let row = 0; row < data.count; row += 1) {
      if (!found[row]) continue;
      let failed = null;
      let failures = 0;
      for (const facet of facets) {
        if (!facet.passes[facet.codes[row]]) {
          failures += 1;
          failed = facet;
        }
      }
      if (failures === 0) {
        rows[passing++] = row;
        for (const facet of facets) facet.counts[facet.codes[row]] += 1;
      } else if (failures === 1) {
        failed.counts[failed.codes[row]] += 1;
      }
    }
    const counts = Object.fromEntries(
      Object.keys(FACETS).map((facet, place) => [facet, facets[place].counts]),
    );
    return { rows: rows.subarray(0, passing), counts };
  }

  /* ------------------------------------------------------------------ state and address */

  let state = readState();
  let shown = null;

  function readState() {
    const address = new URLSearchParams(location.hash.slice(1));
    const sort = (address.get("sort") ?? "")
      .split(",")
      .map((key) => ({ column: key.replace(/^-/, ""), down: key.startsWith("-") }))
      .filter(({ column }) => Object.hasOwn(COLUMNS, column))
      .slice(0, KEYS);
    const chosen = (facet) =>
      new Set(address.getAll(facet).filter((word) => data[facet].words.includes(word)));
    return {
      query: address.get("search") ?? "",
      decision: chosen("decision"),
      status: chosen("status"),
      grade: chosen("grade"),
      sort: sort.length ? sort : [{ column: "id", down: false }],
      page: Math.max(1, Number.parseInt(address.get("page") ?? "1", 10) || 1),
      keys: address.get("keys") !== "off",
    };
  }

  function addressOf({ query, sort, page, keys, ...rest }) {
    const address = new URLSearchParams();
    if (query) address.set("search", query);
    for (const facet in FACETS) for (const word of rest[facet]) address.append(facet, word);
    const written = sort.map(({ column, down }) => (down ? "-" : "") + column).join(",");
    if (written !== "id") address.set("sort", written);
    if (page > 1) address.set("page", String(page));
    if (!keys) address.set("keys", "off");
    return `#${address}`;
  }

  // Typing replaces the address; everything else is a step that Back undoes.
  function change(changes, { step = true } = {}) {
    state = { ...state, page: 1, ...changes };
    show();
    const address = addressOf(state);
    if (address === (location.hash || "#")) return;
    if (step) history.pushState(null, "", address);
    else history.replaceState(null, "", address);
  }

  function restore() {
    if (location.hash && !location.hash.includes("=")) {
      // A link to a place on this page: the browser goes there, and the state stays.
      history.replaceState(null, "", addressOf(state));
      return;
    }
    state = readState();
    find("search").value = state.query;
    find("keys").checked = state.keys;
    show();
  }

  /* ------------------------------------------------------------------ what is on the page */

  const cells = {
    decision: (row) => word("decision", row),
    status: (row) => word("status", row),
    options: (row) => whole.format(data.options[row]),
    cost: (row) => figure("cost", row),
    margin: (row) => figure("margin", row),
    grade: (row) => word("grade", row),
  };

  function word(facet, row) {
    return data[facet].words[data[facet].codes[row]];
  }

  function figure(column, row) {
    const value = data[column].values[row];
    if (value === null) return "–";
    return value.toFixed(data[column].decimals).replace(/^-/, "−");
  }

  function element(name, attributes = {}, text = null) {
    const made = document.createElement(name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    if (text !== null) made.textContent = text;
    return made;
  }

  const results = {};

  // The last result, if nothing it depends on has changed: turning a page does not sort again.
  function kept(name, parts, work) {
    const last = results[name];
    const same = last?.parts.length === parts.length;
    if (!same || parts.some((part, place) => part !== last.parts[place])) {
      results[name] = { parts, value: work() };
    }
    return results[name].value;
  }

  function chosenWords() {
    return Object.keys(FACETS).map((facet) => state[facet]);
  }

  function show() {
    const { rows, counts } = kept("rows", [state.query, ...chosenWords()], () => filtered(state));
    const order = kept("order", [rows, ...state.sort], () =>
      state.sort.reduceRight((order, key) => sortedBy(order, key), rows),
    );
    const pages = Math.max(1, Math.ceil(order.length / ROWS));
    const page = Math.min(state.page, pages);
    shown = { order, page, pages };
    showRows();
    showHeadings();
    showFacets(counts);
    showPager();
    showCount();
  }

  function showRows() {
    const { order, page } = shown;
    const from = (page - 1) * ROWS;
    const body = document.createDocumentFragment();
    order.slice(from, from + ROWS).forEach((row, place) => body.append(rowOf(row, from + place)));
    find("rows").replaceChildren(body);
    find("subjects").setAttribute("aria-rowcount", String(order.length + 1));
    find("frame").hidden = order.length === 0;
    find("nobody").hidden = order.length > 0;
    find("nobody-why").textContent = data.count
      ? `No subject matches ${wordsOfFilters()}.`
      : "This audit has no subjects.";
    const narrowed = isNarrowed();
    find("clear").hidden = !narrowed;
    find("clear-here").hidden = !narrowed;
  }

  const pattern = patternOfRow();

  // One row of the table without its text; copying it is faster than making every cell again.
  function patternOfRow() {
    const line = element("tr", { role: "row" });
    const name = element("th", { role: "rowheader", scope: "row", "data-title": "Subject" });
    name.append(element("a"));
    line.append(name);
    for (const column in cells) {
      const title = COLUMNS[column].title;
      const cell = element("td", { role: "cell", class: `at-${column}`, "data-title": title });
      cell.append(element("span"));
      line.append(cell);
    }
    const letter = element("td", { role: "cell", class: "at-letter", "data-title": "Letter" });
    letter.append(element("a", {}, data.ending.toUpperCase()));
    line.append(letter);
    return line;
  }

  function rowOf(row, place) {
    const line = pattern.cloneNode(true);
    line.setAttribute("aria-rowindex", place + 2);
    const [name, ...others] = line.children;
    const letter = others.pop();
    const file = encodeURIComponent(data.file[row]);
    if (data.page[row] === "1") {
      name.firstChild.href = `subjects/${file}.html`;
      name.firstChild.textContent = data.id[row];
    } else {
      name.textContent = data.id[row];
      name.tabIndex = -1;
    }
    Object.values(cells).forEach((words, at) => {
      const cell = others[at].firstChild;
      cell.textContent = words(row);
      if (others[at].className === "at-status") cell.dataset.word = cell.textContent;
    });
    if (data.letter[row] === "1") {
      letter.firstChild.href = `../letters/${file}.${data.ending}`;
      letter.firstChild.setAttribute("aria-label", `Letter to ${data.id[row]}, ${letter.textContent}`);
    } else {
      letter.textContent = "–";
    }
    return line;
  }

  function showHeadings() {
    for (const heading of document.querySelectorAll("#subjects thead th")) {
      const place = state.sort.findIndex(({ column }) => column === heading.dataset.column);
      const key = state.sort[place];
      if (place === 0) heading.setAttribute("aria-sort", key.down ? "descending" : "ascending");
      else heading.removeAttribute("aria-sort");
      heading.querySelector(".arrow").textContent = place === 0 ? (key.down ? "▼" : "▲") : "";
    }
  }

  function showFacets(counts) {
    for (const facet in FACETS) {
      const boxes = find(`facet-${facet}`).querySelectorAll("input");
      boxes.forEach((box, place) => {
        box.checked = state[facet].has(box.value);
        box.parentElement.querySelector(".count").textContent = whole.format(counts[facet][place]);
        box.parentElement.classList.toggle("none", counts[facet][place] === 0);
      });
    }
  }

  function showPager() {
    const { order, page, pages } = shown;
    find("pager").hidden = pages === 1;
    const last = Math.min(page * ROWS, order.length);
    const from = whole.format((page - 1) * ROWS + 1);
    find("page").textContent =
      `Rows ${from} to ${whole.format(last)}, page ${whole.format(page)} of ${whole.format(pages)}`;
    const reachable = { "page-first": page > 1, "page-before": page > 1 };
    reachable["page-after"] = reachable["page-last"] = page < pages;
    for (const id in reachable) find(id).setAttribute("aria-disabled", String(!reachable[id]));
  }

  let pending = 0;

  // The sentence appears at once; a screen reader reads it out when the typing pauses.
  function showCount() {
    const { order, page, pages } = shown;
    const all = whole.format(data.count);
    const many = order.length === data.count ? `All ${all}` : `${whole.format(order.length)} of ${all}`;
    const count = `${many} ${data.count === 1 ? "subject" : "subjects"}`;
    const [key] = state.sort;
    const { title, low, high } = COLUMNS[key.column];
    const sentence = `${count}, by ${title.toLowerCase()}, ${key.down ? high : low}`;
    find("count").textContent = sentence;
    clearTimeout(pending);
    pending = setTimeout(() => {
      const where = pages > 1 ? `, page ${whole.format(page)} of ${whole.format(pages)}` : "";
      find("said").textContent = sentence + where;
    }, QUIET);
  }

  function isNarrowed() {
    return Boolean(state.query.trim()) || Object.keys(FACETS).some((facet) => state[facet].size);
  }

  function wordsOfFilters() {
    const query = state.query.trim();
    const parts = query ? [`“${query}”`] : [];
    for (const facet in FACETS) {
      if (state[facet].size) {
        parts.push(`${FACETS[facet].toLowerCase()} ${[...state[facet]].join(" or ")}`);
      }
    }
    return parts.join(", ");
  }

  /* ------------------------------------------------------------------ what people do */

  function clear() {
    find("search").value = "";
    change({ query: "", decision: new Set(), status: new Set(), grade: new Set() });
    find("search").focus();
  }

  function sortOn(column) {
    const [first] = state.sort;
    const down = first.column === column && !first.down;
    const others = state.sort.filter((key) => key.column !== column);
    change({ sort: [{ column, down }, ...others].slice(0, KEYS) });
  }

  function turnTo(page) {
    if (page < 1 || page > shown.pages || page === shown.page) return false;
    change({ page });
    return true;
  }

  function targets() {
    return [...find("rows").rows].map((row) => row.querySelector("a") ?? row.cells[0]);
  }

  // Up and down through rows and across pages; left and right between the links of a row.
  function moveInRows(event) {
    const rows = targets();
    const here = event.target.closest("tr");
    const place = here.sectionRowIndex;
    const links = [...here.querySelectorAll("a")];
    const beside = links.indexOf(event.target);
    const moves = {
      ArrowDown: () => rows[place + 1] ?? (turnTo(shown.page + 1) && targets()[0]),
      ArrowUp: () => {
        if (place > 0) return rows[place - 1];
        return turnTo(shown.page - 1) ? targets().at(-1) : shown.page === 1 && find("search");
      },
      ArrowRight: () => links[beside + 1],
      ArrowLeft: () => links[beside - 1],
      Home: () => rows[0],
      End: () => rows.at(-1),
      PageDown: () => turnTo(shown.page + 1) && targets()[0],
      PageUp: () => turnTo(shown.page - 1) && targets()[0],
      Escape: () => find("search"),
    };
    const target = Object.hasOwn(moves, event.key) && moves[event.key]();
    if (!target) return;
    event.preventDefault();
    target.focus();
    if (target === find("search")) target.select();
  }

  function plainKey(event) {
    return !(event.ctrlKey || event.metaKey || event.altKey);
  }

  function listen() {
    find("controls").addEventListener("submit", (event) => event.preventDefault());
    find("search").addEventListener("input", (event) =>
      change({ query: event.target.value }, { step: false }),
    );
    find("search").addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown" && targets().length) {
        event.preventDefault();
        targets()[0].focus();
      } else if (event.key === "Escape") {
        event.preventDefault();
        clear();
      }
    });
    for (const facet in FACETS) {
      find(`facet-${facet}`).addEventListener("change", (event) => {
        const chosen = new Set(state[facet]);
        if (event.target.checked) chosen.add(event.target.value);
        else chosen.delete(event.target.value);
        change({ [facet]: chosen });
      });
    }
    for (const heading of document.querySelectorAll("#subjects thead th")) {
      heading.querySelector("button").addEventListener("click", () => sortOn(heading.dataset.column));
    }
    find("rows").addEventListener("keydown", (event) => {
      if (plainKey(event) && !event.shiftKey) moveInRows(event);
    });
    find("clear").addEventListener("click", clear);
    find("clear-here").addEventListener("click", clear);
    find("page-first").addEventListener("click", () => turnTo(1));
    find("page-before").addEventListener("click", () => turnTo(shown.page - 1));
    find("page-after").addEventListener("click", () => turnTo(shown.page + 1));
    find("page-last").addEventListener("click", () => turnTo(shown.pages));
    find("keys").addEventListener("change", (event) =>
      change({ keys: event.target.checked, page: shown.page }, { step: false }),
    );
    document.addEventListener("keydown", (event) => {
      const typing = event.target.matches?.("input[type=search], textarea, select");
      if (event.key === "/" && state.keys && !typing && plainKey(event)) {
        event.preventDefault();
        find("search").focus();
        find("search").select();
      }
    });
    window.addEventListener("popstate", restore);
    window.addEventListener("hashchange", restore);
  }

  function build() {
    for (const facet in FACETS) {
      for (const name of data[facet].words) {
        const label = element("label");
        label.append(element("input", { type: "checkbox", value: name }));
        const mark = facet === "status" ? { "data-word": name } : {};
        label.append(element("span", { class: "word", ...mark }, name));
        label.append(element("span", { class: "count" }));
        find(`facet-${facet}`).append(label);
      }
      find(`facet-${facet}`).hidden = data[facet].words.length < 2;
    }
  }

  build();
  listen();
  show();
  restore();
  find("without-script").remove();
  find("explorer").hidden = false;
})();
