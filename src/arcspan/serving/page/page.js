"use strict";
// The page: sends text to the API, shows the pictures that it draws, and says what one points at.
// Text from the user or the server goes into the page as text nodes only; pictures are parsed as XML, and the
// page's policy runs no script but this file.

const byId = id => document.getElementById(id);
const EXAMPLES = ["Logic plays a maximal role here.", "I saw the astronomer with a telescope.", "The old man the boats, and the young stay at home.",
  "When the committee finally met on Tuesday, nobody who had read the report believed that the plan, which the mayor still defends, would save any money."];
const PAGE = 20;  // sentences shown at once
const PARTS = ".constituent, .word, .arc";
const LAYOUTS = {wide: 1, tall: 0.8, indented: 0.72};  // the first that fits is shown, shrunk so far at most
let cards = [];  // one for each sentence of the last answer
let sentences = [];
let running = null;

// ------------------------------------------------------------------------------------------------- asking

async function ask() {
  const text = byId("text").value;
  if (!text.trim()) return say("Type a sentence first.");
  running?.abort();
  running = new AbortController();
  const {signal} = running;
  const button = document.querySelector("#ask .primary");
  button.setAttribute("aria-busy", "true");
  const begun = performance.now();
  remember(text);
  try {
    const answer = await post({...wanted(), ...input(text)}, signal);
    show(answer.sentences);
    document.body.classList.add("answered");
    if (matchMedia("(max-width: 40rem)").matches) byId("above").scrollIntoView();  // a phone shows little else
    const words = answer.sentences.reduce((sum, sentence) => sum + sentence.words.length, 0);
    say(`${count(answer.sentences.length, "sentence")}, ${count(words, "word")}, ${Math.round(performance.now() - begun)} ms`);
  } catch (error) {
    if (error.name !== "AbortError") say(error.message, true);
  } finally {
    if (running?.signal === signal) button.removeAttribute("aria-busy");
  }
}

function input(text) {
  if (!byId("spaced").checked) return {text};
  return {words: text.split("\n").map(line => line.split(/\s+/u).filter(Boolean)).filter(line => line.length)};
}

// What to say of every sentence; pictures that may fit this screen, others when they are asked for.
function wanted() {
  const width = Math.max(200, document.documentElement.clientWidth - 40);
  const style = byId("style").value || null;
  return {k: +byId("k").value, confidence: true, style, width, svg: Object.keys(LAYOUTS).slice(width < 600 ? 1 : 0, width > 1100 ? 2 : 3)};
}

async function post(request, signal) {
  const headers = {"Content-Type": "application/json"};
  if (byId("token").value) headers.Authorization = `Bearer ${byId("token").value}`;
  let response;
  try {
    response = await fetch("parse", {method: "POST", headers, body: JSON.stringify(request), signal});
  } catch (error) {
    throw error.name === "AbortError" ? error : new Error("The server does not answer.");
  }
  const answer = await response.json().catch(() => ({}));
  if (response.ok) return answer;
  if (response.status === 401) {
    byId("token-row").hidden = false;
    byId("token").focus();
  }
  const message = answer.error?.message ?? `The server answered ${response.status}.`;
  throw new Error(message[0].toUpperCase() + message.slice(1));
}

// The address holds what was asked, so that it can be passed on.
function remember(text) {
  const query = text.length > 2_000 ? "" : `?${new URLSearchParams({text, ...(byId("spaced").checked && {words: 1})})}`;
  if (query !== location.search) history.pushState(null, "", query || location.pathname);
}

function recall() {
  const query = new URLSearchParams(location.search);
  byId("text").value = query.get("text") ?? "";
  byId("spaced").checked = query.has("words");
  if (!query.get("text")) return;
  byId("text").blur();  // there is something to read
  ask();
}

function say(message, problem = false) {
  byId("status").textContent = message;
  byId("status").classList.toggle("problem", problem);
}

const count = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

// ------------------------------------------------------------------------------------------------ showing

function show(found) {
  sentences = found;
  cards = [];
  byId("results").replaceChildren();
  byId("all").hidden = found.length < 2;
  showMore();
}

function showMore() {
  const next = sentences.slice(cards.length, cards.length + PAGE);
  for (const sentence of next) {
    const card = new Card(sentence, cards.length + 1);
    cards.push(card);
    byId("results").append(card.element);
    card.begin();
  }
  byId("more").hidden = cards.length >= sentences.length;
}

class Card {
  constructor(sentence, number) {
    this.first = sentence;  // before anything was required or forbidden
    this.number = number;
    this.demands = [];  // {kind: "require" or "forbid", what: as the API takes it, text}
    this.layout = null;  // chosen by the user; otherwise by the room there is
    this.element = byId("card").content.firstElementChild.cloneNode(true);
    this.find = selector => this.element.querySelector(selector);
    this.take(sentence);
  }

  get tree() { return this.trees[this.rank]; }

  take(sentence) {
    this.sentence = sentence;
    this.trees = [sentence, ...(sentence.alternatives ?? [])];
    this.rank = 0;
  }

  begin() {
    this.find("h2").textContent = this.sentence.text;
    for (const input of this.element.querySelectorAll(".layouts input")) {
      input.name = `layout-${this.number}`;
      input.addEventListener("change", () => { this.layout = input.value; this.draw(); });
    }
    for (const button of this.element.querySelectorAll("[data-save]")) {
      button.addEventListener("click", () => this.save(button.dataset.save));
    }
    this.refresh();
  }

  refresh() {
    const {error, approximate, reason} = this.sentence;
    this.complain(error ?? (approximate ? "Too long for the exact search: parsed in pieces." : ""));
    this.find(".reason").hidden = !reason;
    this.find(".reason").textContent = reason ? `No percentages: ${reason}.` : "";
    for (const kind of ["conllu", "brackets"]) this.find(`[data-save=${kind}]`).hidden = this.sentence[kind] === null;
    this.addRanks();
    this.addDemands();
    this.draw();
  }

  complain(message) {
    this.find(".problem").hidden = !message;
    this.find(".problem").textContent = message;
  }

  addRanks() {
    const ranks = this.find(".ranks");
    ranks.hidden = this.trees.length < 2;
    ranks.replaceChildren(ranks.firstElementChild, ...this.trees.map((tree, rank) => {
      const input = make("input", {type: "radio", name: `rank-${this.number}`, checked: rank === this.rank});
      input.addEventListener("change", () => { this.rank = rank; this.draw(); });
      const name = make("span", {textContent: rank + 1});
      if (tree.confidence) name.append(make("small", {textContent: this.share(tree)}));
      const label = make("label", {title: tree.score == null ? "" : `score ${tree.score.toFixed(3)}`});
      label.append(input, name);
      return label;
    }));
  }

  // How probable a tree is; of a long sentence, whose trees all have a tiny share, compared with the best of them.
  share(tree) {
    const [best, own] = [this.trees[0], tree].map(one => one.confidence?.sentence);
    return best < 0.001 && own && tree !== this.trees[0] ? `×${(own / best).toPrecision(2)}` : percent(own);
  }

  // What was required and forbidden, each with a button that takes it back.
  addDemands() {
    const row = this.find(".demands");
    row.hidden = !this.demands.length;
    row.replaceChildren(...this.demands.map(demand => {
      const button = make("button", {type: "button", className: demand.kind, title: "Take it back"});
      button.append(make("i", {textContent: demand.kind === "require" ? "with" : "without"}), ` ${demand.text} ×`);
      button.addEventListener("click", () => this.demand(this.demands.filter(other => other !== demand)));
      return button;
    }));
  }

  add(demand) {
    const others = this.demands.filter(other => String(other.what) !== String(demand.what));
    return this.demand([...others, demand]);
  }

  // The best trees under these demands; the trees stay as they are where there are none.
  async demand(demands) {
    this.demands = demands;
    this.addDemands();
    this.element.setAttribute("aria-busy", "true");
    try {
      const found = demands.length ? await this.fetch() : this.first;
      if (demands !== this.demands) return;  // the user was quicker
      this.take({...found, text: this.first.text});
      this.refresh();
    } catch (error) {
      this.complain(error.message);
    } finally {
      this.element.removeAttribute("aria-busy");
    }
  }

  // This sentence again: as the text it was, if that still has the same words.
  async fetch(more = {}) {
    const of = kind => this.demands.filter(demand => demand.kind === kind).map(demand => demand.what);
    const request = {...wanted(), require: of("require"), forbid: of("forbid"), ...more};
    const {words, text, offsets} = this.first;
    if (offsets) {
      const answer = await post({...request, text, one_sentence: true}).catch(() => ({sentences: []}));
      if (String(answer.sentences.map(one => one.words)) === String([words])) return answer.sentences[0];
    }
    return (await post({...request, words})).sentences[0];
  }

  draw() {
    const room = this.find(".picture");
    const space = this.element.clientWidth - 16;
    const there = Object.keys(LAYOUTS).filter(layout => this.tree.svg[layout]);
    if (this.layout && !there.includes(this.layout)) return this.fetchPictures(this.layout);
    let svg, layout;
    for (layout of this.layout ? [this.layout] : there) {
      svg = parsePicture(this.tree.svg[layout]);
      if (svg.width.baseVal.value * LAYOUTS[layout] <= space) break;
      if (!this.layout && layout === there.at(-1) && layout !== "indented") this.fetchPictures("indented");  // a smaller window
    }
    this.shown = layout;
    this.find(`.layouts input[value=${layout}]`).checked = true;
    if (layout !== "wide") {
      const {value} = svg.width.baseVal;
      svg.style.cssText = `width:clamp(${value * LAYOUTS[layout]}px,100%,${value}px);height:auto`;
    }
    room.replaceChildren(svg);
    new Picture(svg, layout, this);
    this.rest();
  }

  async fetchPictures(layout) {
    try {
      const found = await this.fetch({svg: [layout]});
      [found, ...(found.alternatives ?? [])].forEach((tree, rank) => Object.assign(this.trees[rank].svg, tree.svg));
      this.draw();
    } catch (error) {
      this.complain(error.message);
    }
  }

  // What differs from the best tree, as the data attributes name it.
  changes() {
    const [best, tree] = [this.first, this.tree];
    const [known, own] = [best, tree].map(one => new Set((one.constituents ?? []).map(String)));
    const spans = new Set([...own].filter(span => !known.has(span)));
    const gone = [...known].filter(span => !own.has(span)).length;
    const arcs = new Set((tree.heads ?? []).flatMap((head, m) =>
      head !== best.heads[m] || tree.relations[m] !== best.relations[m] ? [m + 1] : []));
    return {spans, gone, arcs};
  }

  // The line below the picture while nothing is pointed at.
  rest() {
    this.find(".acts").replaceChildren();
    const details = this.find(".details");
    const sure = this.tree.confidence && `Probability ${percent(this.tree.confidence.sentence)}. `;
    if (this.rank || this.demands.length) {
      const {spans, gone, arcs} = this.changes();
      const changes = [
        spans.size && `${count(spans.size, "new constituent")}`, gone && `${count(gone, "constituent")} gone`,
        arcs.size && `${count(arcs.size, "other arc")}`,
      ].filter(Boolean).join(", ");
      details.textContent = `${this.demands.length ? "Unlike before" : "Unlike tree 1"}: ${changes || "nothing"}. ${sure ?? ""}`;
    } else {
      const touch = matchMedia("(pointer: coarse), (max-width: 40rem)").matches;
      details.textContent = (sure ?? "") + (touch ? "Tap a word, a constituent or an arc; it can be required or forbidden."
        : "Point at a word, a constituent or an arc; click one to require or forbid it. From the keyboard, Tab here and use the arrow keys, H for the head.");
    }
  }

  save(kind) {
    const content = kind === "svg" ? this.tree.svg[this.shown] : kind === "conllu" ? this.tree.conllu : this.tree.brackets + "\n";
    save(content, `sentence-${this.number}${this.rank ? `-tree-${this.rank + 1}` : ""}`, kind);
  }
}

function parsePicture(text) {
  const parsed = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  return document.importNode(parsed, true);
}

// 99.9%, 0.02%, 0.0003%: long sentences have many trees, and each of them a small share.
const percent = value => value >= 0.9995 ? "100%" : value >= 0.001 ? `${(100 * value).toFixed(1)}%`
  : value < 5e-9 ? "<0.000001%" : `${(100 * value).toFixed(Math.ceil(-Math.log10(100 * value)))}%`;

const make = (name, properties = {}) => Object.assign(document.createElement(name), properties);

function save(content, name, kind) {
  const [ending, type] = {svg: ["svg", "image/svg+xml"], conllu: ["conllu", "text/plain"], brackets: ["ptb", "text/plain"]}[kind];
  const link = make("a");
  link.href = URL.createObjectURL(new Blob([content], {type: `${type};charset=utf-8`}));
  link.download = `${name}.${ending}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function saveAll(kind) {
  const chosen = sentences.map((sentence, place) => cards[place]?.tree ?? sentence);
  save(chosen.map(tree => kind === "conllu" ? tree.conllu : tree.brackets + "\n").join(""), "sentences", kind);
}

// ------------------------------------------------------------------------------------- pointing at a picture

class Picture {
  constructor(svg, layout, card) {
    this.svg = svg;
    this.card = card;
    this.details = card.find(".details");
    this.hovered = this.focused = this.picked = null;
    this.words = this.all(".word");
    this.constituents = this.all(".constituent");
    svg.setAttribute("role", "group");
    svg.setAttribute("tabindex", "-1");  // Chromium lets the Tab key stop at anything that listens for focus
    svg.setAttribute("aria-label", "Both trees");
    svg.querySelector("title").remove();  // the heading says it; as a tooltip it would be in the way
    this.prepare();
    // towards the leaves, towards the top, along the sentence
    this.keys = layout === "wide"
      ? {ArrowDown: "down", ArrowUp: "up", ArrowLeft: "before", ArrowRight: "after"}
      : {ArrowRight: "down", ArrowLeft: "up", ArrowUp: "before", ArrowDown: "after"};
    svg.addEventListener("pointerover", event => { this.hovered = event.target.closest(PARTS); this.update(); });
    svg.addEventListener("pointerleave", () => { this.hovered = null; this.update(); });
    svg.addEventListener("click", event => {
      const part = event.target.closest(PARTS);
      if (!part || part === this.picked) return this.leave();
      this.go(part);
      this.picked = part;
      this.update();
    });
    svg.addEventListener("focusin", event => { this.picked = null; this.focused = event.target.closest(PARTS); this.update(); });
    svg.addEventListener("focusout", event => {
      if (card.find(".acts").contains(event.relatedTarget)) return;
      this.focused = this.picked = null;
      this.update();
    });
    card.find(".acts").onfocusout = event => { if (!card.element.contains(event.relatedTarget)) this.leave(); };
    card.find(".acts").onkeydown = event => { if (event.key === "Escape") this.leave(); };
    svg.addEventListener("keydown", event => this.press(event));
  }

  leave() {
    document.activeElement?.blur();
    this.focused = this.picked = null;
    this.update();
  }

  all(selector) { return [...this.svg.querySelectorAll(selector)]; }
  word(position) { return this.words[position - 1]; }
  arc(position) { return this.svg.querySelector(`.arc[data-word="${position}"]`); }

  // Larger targets than the letters themselves, marks on what is new in this tree, one place for the Tab key.
  prepare() {
    const {spans, arcs} = this.card.changes();
    for (const part of this.all(PARTS)) {
      part.querySelector("title")?.remove();  // `details` says more
      part.setAttribute("tabindex", "-1");
      part.setAttribute("role", "img");
      part.setAttribute("aria-label", describe(part, this.card).map(([text]) => text).join(", "));
      const path = part.querySelector("path:not(.tip)");  // of an arc, unless it is only told
      if (part.matches(".arc")) part.classList.toggle("changed", arcs.has(+part.dataset.word));
      if (path) {
        const reach = path.cloneNode();
        reach.setAttribute("class", "reach");
        path.before(reach);
        continue;
      }
      const box = part.getBBox();
      const hit = document.createElementNS("http://www.w3.org/2000/svg", "rect");
      const [x, y] = part.matches(".word") ? [5, 4] : [6, 3];
      for (const [name, value] of Object.entries({
        class: "hit", x: box.x - x, y: box.y - y, width: box.width + 2 * x, height: box.height + 2 * y, rx: 5,
      })) hit.setAttribute(name, value);
      part.prepend(hit);
      if (part.dataset.span) part.classList.toggle("changed", spans.has(`${part.dataset.span},${part.dataset.label}`));
    }
    this.words[0]?.setAttribute("tabindex", "0");
  }

  press(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === "Escape") return this.leave();
    const part = event.target.closest(PARTS);
    const move = event.key === "h" || event.key === "H" ? "head" : event.key === "Home" ? "first" : event.key === "End" ? "last" : this.keys[event.key];
    if (!part || !move) return;
    event.preventDefault();
    const next = this.neighbour(part, move);
    if (next) this.go(next);
  }

  neighbour(part, move) {
    const {word, span, head} = part.dataset;
    if (move === "first") return this.words[0];
    if (move === "last") return this.words.at(-1);
    if (move === "head") return this.word(head);
    if (part.matches(".word")) {
      if (move === "up") return this.constituents.filter(other => covers(other, word)).at(-1);
      if (move === "down") return this.arc(word);
      return this.word(+word + (move === "after" ? 1 : -1));
    }
    if (part.matches(".arc")) {
      if (move === "up") return this.word(word);
      if (move === "down") return this.word(head);
      return this.arc(+word + (move === "after" ? 1 : -1));
    }
    const place = this.constituents.indexOf(part);
    const [i, j] = ends(part);
    if (move === "up") return this.constituents.slice(0, place).filter(other => ends(other)[0] <= i && j <= ends(other)[1]).at(-1);
    if (move === "down") {
      const below = this.constituents[place + 1];
      return below && ends(below)[0] >= i && ends(below)[1] <= j ? below : this.word(head ?? i + 1);
    }
    return move === "after"
      ? this.constituents.slice(place + 1).find(other => ends(other)[0] >= j) ?? this.word(j + 1)
      : this.constituents.slice(0, place).filter(other => ends(other)[1] <= i).at(-1) ?? this.word(i);
  }

  go(part) {
    for (const other of this.all('[tabindex="0"]')) other.setAttribute("tabindex", "-1");
    part.setAttribute("tabindex", "0");
    part.focus({preventScroll: true});
    part.scrollIntoView({block: "nearest", inline: "nearest"});
  }

  update() {
    const part = this.picked ?? this.hovered ?? this.focused;
    for (const marked of this.all(".on, .governor")) marked.classList.remove("on", "governor");
    this.svg.classList.toggle("focus", Boolean(part));
    if (!part) return this.card.rest();
    for (const other of this.related(part)) other.classList.add("on");
    this.word(part.dataset.head)?.classList.add("governor");
    this.details.replaceChildren(...describe(part, this.card).map(([text, name, value]) => {
      const piece = make("span");
      if (value === undefined) piece.append(make("b", {textContent: text}));
      else piece.append(`${name} `, make("span", {className: name === "head" ? "head" : "", textContent: value}));
      return piece;
    }));
    const chosen = this.picked ?? (this.hovered ? null : this.focused);
    this.card.find(".acts").replaceChildren(...(chosen ? choices(chosen, this.card) : []).map(([name, ...demands]) => {
      const button = make("button", {type: "button", textContent: name});
      button.addEventListener("click", () => demands.forEach(demand => this.card.add(demand)));
      return button;
    }));
  }

  // Everything that belongs to a part: a constituent's inside; a word's head, dependents and constituents.
  related(part) {
    const {word, span, head} = part.dataset;
    if (span) {
      const [i, j] = ends(part);
      const inside = position => i < +position && +position <= j;
      return [part, ...this.words.filter(one => inside(one.dataset.word)),
        ...this.all(".constituent, .edges [data-span]").filter(one => {
          const [a, b] = ends(one);
          return i <= a && b <= j && (a > i || b < j);
        }),
        ...this.all(".edges [data-word]").filter(one => inside(one.dataset.word)),
        ...this.all(".arc").filter(one => inside(one.dataset.word) && inside(one.dataset.head))];
    }
    const found = [part, this.word(word), this.arc(word), this.word(head)];
    if (part.matches(".word")) {
      for (const below of this.all(`.arc[data-head="${word}"]`)) found.push(below, this.word(below.dataset.word));
      found.push(...this.all(`.constituent[data-head="${word}"], .spine[data-head="${word}"]`));
    }
    return found.filter(Boolean);
  }
}

const ends = part => part.dataset.span.split(",").map(Number);
const covers = (constituent, word) => ends(constituent)[0] < +word && +word <= ends(constituent)[1];

// What can be demanded of a part: the name of a button, and the demands that it makes.
function choices(part, card) {
  const {words} = card.sentence;
  const demand = (kind, what, text) => ({kind, what, text});
  if (!part.dataset.span) {
    const m = +part.dataset.word;
    const head = card.tree.heads?.[m - 1];
    if (head === undefined) return [];
    const [what, text] = head ? [["arc", head, m], `${words[head - 1]} → ${words[m - 1]}`] : [["root", m], `root → ${words[m - 1]}`];
    return [["Require arc", demand("require", what, text)], ["Forbid arc", demand("forbid", what, text)]];
  }
  const [i, j] = ends(part);
  const {label} = part.dataset;
  const span = j - i > 3 ? `${words[i]} … ${words[j - 1]}` : words.slice(i, j).join(" ");
  const found = [];
  if (label) found.push([`Require ${label}`, demand("require", [i, j, label], `${label} “${span}”`)]);
  if (j - i < words.length) found.push(["Forbid constituent", demand("forbid", [i, j], `a constituent “${span}”`)]);
  if (label) found.push([`Forbid ${label}`, demand("forbid", [i, j, label], `${label} “${span}”`)]);
  return found;
}

// What there is to say about a part: [text] or [text, name, value].
function describe(part, card) {
  const {words} = card.sentence;
  const {tree} = card;
  const pair = (name, value) => [`${name} ${value}`, name, value];
  const found = [];
  if (part.dataset.span) {
    const [i, j] = ends(part);
    found.push([part.dataset.label || "no label"], pair(j - i === 1 ? "word" : "words", j - i === 1 ? j : `${i + 1}–${j}`));
    const inside = words.slice(i, j);
    found.push(pair("span", `“${(inside.length > 12 ? [...inside.slice(0, 6), "…", ...inside.slice(-5)] : inside).join(" ")}”`));
    found.push(part.dataset.head ? pair("head", words[part.dataset.head - 1]) : ["no single head"]);
    const sure = tree.confidence?.spans.find(([a, b]) => a === i && b === j);
    if (sure) found.push(pair("confidence", percent(sure[2])), pair("in the label", percent(sure[3])));
    return found;
  }
  const m = +part.dataset.word;
  const [head, relation] = [tree.heads?.[m - 1], tree.relations?.[m - 1]];
  found.push([part.matches(".arc") ? `${head ? words[head - 1] : "root"} → ${words[m - 1]}` : words[m - 1]]);
  if (part.matches(".word")) found.push(pair("word", m), ...[tree.tags[m - 1], tree.upos[m - 1]].filter(Boolean).map(tag => pair("tag", tag)));
  if (tree.lemmas?.[m - 1]) found.push(pair("lemma", tree.lemmas[m - 1]));
  if (tree.features?.[m - 1]) found.push(pair("features", tree.features[m - 1].replaceAll("|", ", ")));
  if (head !== undefined) found.push(head ? pair("head", words[head - 1]) : ["root of the sentence"]);
  if (relation) found.push(pair("relation", relation));
  const sure = tree.confidence;
  if (sure?.arcs.length) found.push(pair("confidence", percent(sure.arcs[m - 1])), pair("in the relation", percent(sure.relations[m - 1])));
  return found;
}

// ------------------------------------------------------------------------------------------------ beginning

async function greet() {
  const health = await fetch("health").then(response => response.json()).catch(() => null);
  if (!health?.model) return;
  byId("model").textContent = health.model.name ?? "";
  byId("token-row").hidden = !health.token;
  byId("style").append(...(health.styles ?? []).map(name => make("option", {textContent: name})));
  byId("style").parentElement.hidden = !health.styles?.length;
  for (const option of [...byId("k").options]) if (+option.value > health.limits.max_k) option.remove();
  if (["en", "", null].includes(health.model.language)) {
    for (const text of EXAMPLES) {
      const button = make("button", {type: "button", textContent: text});
      button.addEventListener("click", () => { byId("text").value = text; ask(); });
      byId("examples").append(button);
    }
    byId("examples").hidden = false;
  }
}

byId("ask").addEventListener("submit", event => { event.preventDefault(); ask(); });
byId("text").addEventListener("keydown", event => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing && (!byId("spaced").checked || event.ctrlKey)) {
    event.preventDefault();
    ask();
  }
});
for (const id of ["k", "style"]) byId(id).addEventListener("change", () => { if (sentences.length) ask(); });
byId("more").addEventListener("click", showMore);
for (const button of document.querySelectorAll("#all [data-save]")) {
  button.addEventListener("click", () => saveAll(button.dataset.save));
}
let width = document.documentElement.clientWidth;
addEventListener("resize", () => {
  if (document.documentElement.clientWidth === width) return;
  width = document.documentElement.clientWidth;
  for (const card of cards) if (!card.layout) card.draw();
});
addEventListener("popstate", recall);
greet();
recall();
