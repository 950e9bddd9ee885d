"use strict";
/* A table with one row per person, of the index and of the letters: search, filters, sorting, pages, a table to save,
   and on the index two people side by side; all in this file and without a network. An index shows the page's own
   overview until somebody asks for something.

   People come in columns, those who need a person first. What a page has is in its labels and its data. A view is a list of places in those columns. Sorting
   counts instead of comparing: every column knows the rank of each of its values, so that one more
   key costs one more pass, equal values keep their order, and missing values come last in both
   directions. The whole state is in the address, after the #. */
(() => {
  const data = JSON.parse(document.getElementById("subjects-data").textContent);
  const ROWS = 50;
  const KEYS = 3;
  const QUIET = 350;
  const find = (id) => document.getElementById(id);
  const labels = JSON.parse(find("labels").textContent);
  const whole = new Intl.NumberFormat(labels.language);
  const filled = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
  const say = (key, values = {}) => filled(labels.said[key], values);

  const FACETS = Object.keys(data.facets);
  const CHIPS = labels.chips ?? []; // several may be chosen; of the others one
  const GROUPS = FACETS.filter((facet) => facet.startsWith("group."));
  const COLUMNS = labels.columns;
  const PAGES = labels.pages ?? "subjects/";
  const LETTERS = labels.pages ? "" : "../letters/"; // the folder of letters has a table as well
  const FIRST = labels.first; // the order in which people come

  /* ------------------------------------------------------------------ ranks and order */

  const ranks = {};

  function ranksOf(column) {
    if (!ranks[column]) ranks[column] = ranked(column);
    return ranks[column];
  }

  // The rank of every row in a column, how many ranks there are, and -1 where a value is missing.
  function ranked(column) {
    if (column === "id") {
      const byId = new Intl.Collator("en", { numeric: true }).compare;
      const order = data.id.map((_, row) => row).sort((a, b) => byId(data.id[a], data.id[b]));
      const of = new Int32Array(data.count);
      order.forEach((row, place) => (of[row] = place));
      return { of, count: data.count };
    }
    if (column === "alone" || column === "groups") {
      const texts = data.id.map((_, row) => (column === "alone" ? word("alone", row) : groupsOf(row)));
      const known = [...new Set(texts)].sort();
      return { of: Int32Array.from(texts, (text) => known.indexOf(text)), count: known.length };
    }
    if (column === "letter") {
      return { of: Int32Array.from(data.letter, (mark) => 1 - Number(mark)), count: 2 };
    }
    const { words, combos, codes } = column === "what" ? data.facets.need : (data[column] ?? {});
    if (combos) {
      const open = combos.map((set) => set.filter((place) => !isDone(words[place])).length);
      return { of: Int32Array.from(codes, (code) => open[code]), count: Math.max(0, ...open) + 1 };
    }
    if (codes) {
      return { of: Int32Array.from(codes, (code) => (words[code] ? code : -1)), count: words.length };
    }
    const values = column === "holds" ? data.held : data[column].values;
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
      const texts = [...FACETS.map((name) => data.facets[name]), ...Object.keys(COLUMNS).map((name) => data[name])];
      for (const { words, codes } of texts.filter((column) => column?.words && !column.combos)) {
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
    const facets = FACETS.map((facet) => {
      const { words, combos, codes } = data.facets[facet];
      const chosen = state[facet];
      const sets = combos ?? words.map((_, place) => [place]);
      const passes = sets.map((set) => chosen.size === 0 || set.some((place) => chosen.has(words[place])));
      return { codes, sets, passes, counts: new Int32Array(words.length) };
    });
    const count = ({ counts, sets, codes }, row) => {
      for (const place of sets[codes[row]]) counts[place] += 1;
    };
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
        for (const facet of facets) count(facet, row);
      } else if (failures === 1) {
        count(failed, row);
      }
    }
    const counts = Object.fromEntries(
      FACETS.map((facet, place) => [facet, facets[place].counts]),
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
      new Set(address.getAll(facet).filter((word) => data.facets[facet].words.includes(word)));
    return {
      ...Object.fromEntries(FACETS.map((facet) => [facet, chosen(facet)])),
      query: address.get("search") ?? "",
      list: address.get("list") === "all",
      pair: address.getAll("compare").slice(0, 2),
      sort: sort.length ? sort : [{ column: FIRST, down: false }],
      page: Math.max(1, Number.parseInt(address.get("page") ?? "1", 10) || 1),
      keys: address.get("keys") !== "off",
    };
  }

  function addressOf({ query, sort, page, keys, list, pair, ...rest }) {
    const address = new URLSearchParams();
    if (query) address.set("search", query);
    for (const facet of FACETS) for (const word of rest[facet]) address.append(facet, word);
    const written = sort.map(({ column, down }) => (down ? "-" : "") + column).join(",");
    if (written !== FIRST) address.set("sort", written);
    if (page > 1) address.set("page", String(page));
    if (list) address.set("list", "all");
    for (const id of pair) address.append("compare", id);
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

  const fillers = {
    groups: (cell, row) => cell.append(groupsOf(row)),
    todo: (cell, row) => {
      const list = element("ul");
      for (const text of items(row)) list.append(element("li", isDone(text) ? { class: "done" } : {}, text));
      cell.replaceWith(list);
    },
    effort: (cell, row) => cell.append(figure("effort", row)),
    holds: (cell, row) => {
      const held = data.held[row];
      if (held === null) return;
      const values = { count: whole.format(held), total: whole.format(data.tests[row]) };
      cell.append(filled(labels.of, values));
      if (data.needs[data.facets.need.codes[row]] === "fragile") {
        cell.append(" ", element("strong", { class: "attention" }, `▲ ${say("fragile")}`));
      }
    },
    value: (cell, row) => {
      const value = data.value.values[row];
      cell.append(element("span", {}, valueWords(value)));
      if (value !== null) cell.append(mark(value));
    },
    alone: (cell, row) => cell.append(word("alone", row)),
  };
  const cells = {};
  for (const column in COLUMNS) {
    if (column !== "id" && column !== "letter") {
      cells[column] = fillers[column] ?? ((cell, row) => cell.append(coded(column, row)));
    }
  }

  function coded(column, row) {
    return data[column].words[data[column].codes[row]];
  }

  // What is to be done before a letter is signed, or is done, which begins with a tick.
  function items(row) {
    return data.todo.combos[data.todo.codes[row]].map((place) => data.todo.words[place]);
  }

  function isDone(text) {
    return text.startsWith("✓");
  }

  function word(facet, row) {
    const { words, codes } = data.facets[facet];
    return words[codes[row]];
  }

  function groupsOf(row) {
    return GROUPS.map((facet) => word(facet, row)).join(" · ");
  }

  function figure(column, row) {
    const value = data[column].values[row];
    return value === null ? "" : fixed(value, data[column].decimals);
  }

  function fixed(value, decimals) {
    const digits = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
    return new Intl.NumberFormat(labels.language, digits).format(value).replace("-", "−");
  }

  // What is just short of all or nothing is not rounded to it.
  function valueWords(value) {
    if (value === null) return "";
    if (labels.whole && value > 0 && value < 0.0005) return `<\u00a0${fixed(0.001, 3)}`;
    if (labels.whole && value < 1 && value >= 0.9995) return `>\u00a0${fixed(0.999, 3)}`;
    if (labels.whole || labels.margin) return fixed(value, 3);
    const size = Math.abs(value);
    return fixed(value, size >= 1000 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3);
  }

  const known = (data.value?.values ?? []).filter((value) => value !== null);
  const ends = labels.whole
    ? [0, 1]
    : known.reduce(([low, high], one) => [Math.min(low, one), Math.max(high, one)], [labels.line, labels.line]);

  // A dot on a line, with a stroke where the decision turns; the figure beside it says the same.
  function mark(value) {
    const at = (one) => 6 + 84 * (ends[0] === ends[1] ? 0.5 : (one - ends[0]) / (ends[1] - ends[0]));
    const made = drawn("svg", { viewBox: "0 0 96 16", width: 96, height: 16, "aria-hidden": "true" });
    made.append(
      drawn("line", { x1: 6, x2: 90, y1: 8, y2: 8, class: "stroke-lines" }),
      drawn("line", { x1: at(labels.line), x2: at(labels.line), y1: 1, y2: 15, class: "stroke-ink turn" }),
      drawn("circle", { cx: at(value), cy: 8, r: 4.5, class: "fill-paper stroke-ink dot" }),
    );
    return made;
  }

  function drawn(name, attributes) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    return made;
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
    return FACETS.map((facet) => state[facet]);
  }

  function show() {
    const { rows, counts } = kept("rows", [state.query, ...chosenWords()], () => filtered(state));
    const order = kept("order", [rows, ...state.sort], () =>
      state.sort.reduceRight((order, key) => sortedBy(order, key), rows),
    );
    const pages = Math.max(1, Math.ceil(order.length / ROWS));
    const page = Math.min(state.page, pages);
    shown = { order, page, pages };
    find("overview").hidden = !isOverview();
    showRows();
    showPair();
    showHeadings();
    showFacets(counts);
    showPager();
    showCount();
  }

  function showRows() {
    const { order, page } = shown;
    const from = (page - 1) * ROWS;
    const body = document.createDocumentFragment();
    const listed = isOverview() ? [] : order.slice(from, from + ROWS);
    listed.forEach((row, place) => body.append(rowOf(row, from + place)));
    find("rows").replaceChildren(body);
    find("subjects").setAttribute("aria-rowcount", String(order.length + 1));
    find("frame").hidden = order.length === 0 || isOverview();
    find("nobody").hidden = order.length > 0;
    find("nobody-why").textContent = data.count
      ? say("nobody", { what: wordsOfFilters() })
      : say("nobody_at_all");
    const narrowed = isNarrowed();
    find("clear").hidden = !narrowed;
    find("clear-here").hidden = !narrowed;
  }

  const pattern = patternOfRow();

  // One row of the table without its text; copying it is faster than making every cell again.
  function patternOfRow() {
    const line = element("tr", { role: "row" });
    const name = element("th", { role: "rowheader", scope: "row", "data-title": COLUMNS.id.title });
    name.append(element("a"));
    line.append(name);
    for (const column in cells) {
      const title = COLUMNS[column].title;
      const cell = element("td", { role: "cell", class: `at-${column}`, "data-title": title });
      cell.append(element("span"));
      line.append(cell);
    }
    const title = COLUMNS.letter.title;
    const letter = element("td", { role: "cell", class: "at-letter", "data-title": title });
    letter.append(element("a"));
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
      name.firstChild.href = `${PAGES}${file}.html`;
      name.firstChild.textContent = data.id[row];
    } else {
      name.textContent = data.id[row];
      name.tabIndex = -1;
    }
    Object.values(cells).forEach((fill, at) => fill(others[at].firstChild, row));
    if (data.letter[row] === "1") {
      const stateOf = say(data.signed[row] === "1" ? "signed" : "draft");
      letter.firstChild.href = `${LETTERS}${file}.${data.ending}`;
      letter.firstChild.textContent = stateOf;
      letter.firstChild.setAttribute("aria-label", say("letter_to", { id: data.id[row], state: stateOf }));
    } else {
      letter.textContent = "";
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
    for (const facet of FACETS.filter((name) => !CHIPS.includes(name))) {
      const choices = [...find(`facet-${facet}`).options];
      choices.slice(1).forEach((choice, place) => {
        choice.textContent = `${choice.value} (${whole.format(counts[facet][place])})`;
      });
      find(`facet-${facet}`).value = [...state[facet]][0] ?? "";
    }
    for (const facet of CHIPS) {
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
    find("pager").hidden = pages === 1 || isOverview();
    const last = Math.min(page * ROWS, order.length);
    const from = whole.format((page - 1) * ROWS + 1);
    find("page").textContent = say("rows", { from, to: whole.format(last), page: pageWords() });
    const reachable = { "page-first": page > 1, "page-before": page > 1 };
    reachable["page-after"] = reachable["page-last"] = page < pages;
    for (const id in reachable) find(id).setAttribute("aria-disabled", String(!reachable[id]));
  }

  function pageWords() {
    return say("page", { page: whole.format(shown.page), pages: whole.format(shown.pages) });
  }

  let pending = 0;

  // The sentence appears at once; a screen reader reads it out when the typing pauses.
  function showCount() {
    const { order, pages } = shown;
    const all = whole.format(data.count);
    const found = whole.format(order.length);
    const count = order.length === data.count ? say("all", { count: all }) : say("some", { found, count: all });
    const [key] = state.sort;
    const { title, low, high } = COLUMNS[key.column];
    const sentence = isOverview() ? say("overview", { count }) : say("sorted", { count, column: title, order: key.down ? high : low });
    find("count").textContent = sentence;
    clearTimeout(pending);
    pending = setTimeout(() => {
      find("said").textContent = sentence + (pages > 1 && !isOverview() ? `, ${pageWords()}` : "");
    }, QUIET);
  }

  // Nobody asked for anything: then the page's own overview is there, if it has one.
  function isOverview() {
    if (!labels.overview) return false;
    const [{ column, down }] = state.sort;
    return !state.list && !isNarrowed() && state.sort.length === 1 && column === FIRST && !down && state.page === 1;
  }

  function isNarrowed() {
    return Boolean(state.query.trim()) || FACETS.some((facet) => state[facet].size);
  }

  function wordsOfFilters() {
    const query = state.query.trim();
    const parts = query ? [`“${query}”`] : [];
    for (const facet of FACETS) {
      if (state[facet].size) {
        parts.push([...state[facet]].map((one) => `“${one}”`).join(` ${say("or")} `));
      }
    }
    return parts.join(", ");
  }

  /* ------------------------------------------------------------------ what people do */

  function clear() {
    find("search").value = "";
    change({ query: "", ...Object.fromEntries(FACETS.map((facet) => [facet, new Set()])) });
    find("search").focus();
  }

  /* ------------------------------------------------------------------ two side by side */

  function showPair() {
    if (!find("pair")) return;
    const rows = state.pair.map((id) => data.id.indexOf(id)).filter((row) => row >= 0);
    const table = find("pair-table");
    table.hidden = rows.length < 2;
    state.pair.forEach((id, place) => (find(`pair-${place}`).value = id));
    find("pair-unknown").hidden = rows.length === state.pair.length;
    if (rows.length < 2) return table.replaceChildren();
    find("pair").open = true;
    const head = element("tr");
    head.append(element("td"));
    for (const row of rows) {
      const name = element("th", { scope: "col" });
      name.append(element("a", { href: `subjects/${encodeURIComponent(data.file[row])}.html` }, data.id[row]));
      head.append(name);
    }
    const lines = [head];
    for (const [title, text] of fields()) {
      const texts = rows.map(text);
      const line = element("tr", texts[0] === texts[1] ? {} : { class: "differs" });
      line.append(element("th", { scope: "row" }, title));
      for (const one of texts) line.append(element("td", {}, one));
      lines.push(line);
    }
    table.replaceChildren(...lines);
  }

  // What is known of a person, as text: each with its title.
  function fields() {
    const letter = [COLUMNS.letter.title, (row) => (data.letter[row] === "1" ? say(data.signed[row] === "1" ? "signed" : "draft") : "")];
    if (!labels.overview) {
      const text = (column) => (row) => (column === "todo" ? items(row).join("; ") : coded(column, row));
      return [...Object.keys(cells).map((column) => [COLUMNS[column].title, text(column)]), letter];
    }
    const held = (row) =>
      data.held[row] === null ? "" : filled(labels.of, { count: data.held[row], total: data.tests[row] });
    return [
      ...GROUPS.map((facet) => [labels.facets[facet], (row) => word(facet, row)]),
      [labels.facets.decision, (row) => word("decision", row)],
      [COLUMNS.value.title, (row) => valueWords(data.value.values[row])],
      ...(data.facets.alone ? [[labels.facets.alone, (row) => word("alone", row)]] : []),
      [labels.facets.need, (row) => word("need", row)],
      [COLUMNS.what.title, (row) => data.what.words[data.what.codes[row]]],
      [COLUMNS.effort.title, (row) => figure("effort", row)],
      [COLUMNS.holds.title, held],
      letter,
    ];
  }

  // The rows that pass the filters, in their order; a cell that a spreadsheet would run is text.
  function save() {
    const columns = [[labels.overview ? COLUMNS.id.title : "id", (row) => data.id[row]], ...fields()];
    const cell = (text) => `"${(/^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text).replaceAll('"', '""')}"`;
    const line = (texts) => texts.map(cell).join(",");
    const lines = [columns.map(([title]) => title), ...Array.from(shown.order, (row) => columns.map(([, text]) => text(row)))];
    const file = new Blob(["\ufeff", lines.map(line).join("\r\n"), "\r\n"], { type: "text/csv" });
    const link = element("a", { href: URL.createObjectURL(file), download: "people.csv" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
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
    const rows = isOverview() ? document.querySelectorAll("#overview .person") : find("rows").rows;
    return [...rows].map((row) => row.querySelector("a") ?? row.cells[0]);
  }

  // Up and down through rows and across pages; left and right between the links of a row.
  function moveInRows(event) {
    const rows = targets();
    const here = event.target.closest("tr");
    const links = [...here.querySelectorAll("a")];
    const place = rows.indexOf(links[0] ?? here.cells[0]);
    if (place < 0) return;
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
    for (const facet of FACETS.filter((name) => !CHIPS.includes(name))) {
      find(`facet-${facet}`).addEventListener("change", (event) =>
        change({ [facet]: new Set(event.target.value ? [event.target.value] : []) }),
      );
    }
    for (const facet of CHIPS) {
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
    for (const id of ["rows", "overview"]) {
      find(id).addEventListener("keydown", (event) => {
        if (plainKey(event) && !event.shiftKey && event.target.closest("tr")) moveInRows(event);
      });
    }
    find("everyone")?.addEventListener("click", () => change({ list: true }));
    find("save").addEventListener("click", save);
    find("pair-form")?.addEventListener("submit", (event) => {
      event.preventDefault();
      const pair = [0, 1].map((place) => find(`pair-${place}`).value.trim());
      change({ pair: pair.filter(Boolean), page: shown.page });
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
    for (const facet of FACETS.filter((name) => !CHIPS.includes(name))) {
      const label = element("label", {}, labels.facets[facet]);
      const choice = element("select", { id: `facet-${facet}` });
      choice.append(element("option", { value: "" }, say("any")));
      for (const name of data.facets[facet].words) choice.append(element("option", { value: name }));
      label.append(choice);
      label.hidden = data.facets[facet].words.length < 2;
      find("choices").append(label);
    }
    for (const facet of CHIPS) {
      for (const name of data.facets[facet].words) {
        const label = element("label");
        label.append(element("input", { type: "checkbox", value: name }));
        label.append(element("span", { class: "word" }, name));
        label.append(element("span", { class: "count" }));
        find(`facet-${facet}`).append(label);
      }
      find(`facet-${facet}`).hidden = data.facets[facet].words.length < 2;
    }
  }

  build();
  listen();
  show();
  restore();
  find("without-script").remove();
  find("explorer").hidden = false;
})();
