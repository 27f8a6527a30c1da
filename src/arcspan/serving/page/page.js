"use strict";
// The page: sends text to the API, shows the pictures that it draws, and describes the part under the pointer.
// picture.js, which comes first, has PARTS, ends(), related() and highlight().
// Text from the user or the server goes into the page as text nodes only; pictures are parsed as XML, and the
// page's policy runs no script but this file.

const byId = id => document.getElementById(id);
const EXAMPLES = ["Logic plays a maximal role here.", "I saw the astronomer with a telescope.", "The old man the boats, and the young stay at home.",
  "When the committee finally met on Tuesday, nobody who had read the report believed that the plan, which the mayor still defends, would save any money."];
const PAGE = 20;  // sentences shown at once
const LAYOUTS = {wide: 1, tall: 0.8, indented: 0.72};  // the first that fits is shown, shrunk so far at most
const MATCHES = 50;  // named below a picture
const BEST = "5";  // trees, unless the user chooses
const SIZES = [0.5, 0.67, 0.8, 1, 1.25, 1.5, 2, 3];
const FORMATS = {svg: "image/svg+xml", png: "image/png", pdf: "application/pdf", tikz: "application/x-tex"};
let cards = [];  // one for each sentence of the last answer that is shown
let sentences = [];
let states = {};  // what a link says about sentences: number -> {tree, require, forbid}
let running = null;
let glossary = {};  // kind of name -> name -> [meaning, example]

// ------------------------------------------------------------------------------------------------- requests

async function parse(linkStates = {}, push = true) {
  const text = byId("text").value;
  if (!text.trim()) return setStatus("Type a sentence first.");
  running?.abort();
  running = new AbortController();
  const {signal} = running;
  const button = document.querySelector("#ask .primary");
  button.setAttribute("aria-busy", "true");
  const start = performance.now();
  try {
    const answer = await post({...requestOptions(), ...input(text)}, {signal});
    states = linkStates;
    showSentences(answer.sentences);
    remember(push);
    document.body.classList.add("answered");
    byId("examples").open = false;
    for (const id of ["skip", "copy", "fold"]) byId(id).hidden = !answer.sentences.length;
    if (matchMedia("(max-width: 40rem)").matches) byId("above").scrollIntoView();  // a phone shows little else
    const sum = size => answer.sentences.reduce((total, sentence) => total + size(sentence), 0);
    const matches = answer.sentences[0]?.matches ? `${count(sum(sentence => sentence.matches.length), "match", "matches")}, ` : "";
    setStatus(`${count(answer.sentences.length, "sentence")}, ${count(sum(sentence => sentence.words.length), "word")}, ${matches}${Math.round(performance.now() - start)} ms`);
  } catch (error) {
    if (error.name !== "AbortError") setStatus(error.message, true);
  } finally {
    if (running?.signal === signal) button.removeAttribute("aria-busy");
  }
}

function input(text) {
  if (!byId("spaced").checked) return {text};
  return {words: text.split("\n").map(line => line.split(/\s+/u).filter(Boolean)).filter(line => line.length)};
}

// The options for every sentence; pictures that may fit this screen, others when they are needed.
function requestOptions() {
  const width = Math.max(200, document.documentElement.clientWidth - 40);
  const style = byId("style").value || null;
  const drawing = {layers: byId("layers").value || null, heads: byId("heads").checked, colours: byId("colours").value};
  const find = byId("find").value.trim() || null;
  return {k: +byId("k").value, confidence: true, syntax: true, find, style, width, ...drawing, svg: Object.keys(LAYOUTS).slice(width < 600 ? 1 : 0, width > 1100 ? 2 : 3)};
}

async function post(request, {signal, accept = "application/json"} = {}) {
  const headers = {"Content-Type": "application/json", Accept: accept};
  if (byId("token").value) headers.Authorization = `Bearer ${byId("token").value}`;
  let response;
  try {
    response = await fetch("parse", {method: "POST", headers, body: JSON.stringify(request), signal});
  } catch (error) {
    throw error.name === "AbortError" ? error : new Error("The server does not answer.");
  }
  if (response.ok) return accept === "application/json" ? response.json() : response.blob();
  const answer = await response.json().catch(() => ({}));
  if (response.status === 401) {
    byId("token-row").hidden = false;
    byId("token").focus();
  }
  const message = answer.error?.message ?? `The server answered ${response.status}.`;
  throw new Error(message[0].toUpperCase() + message.slice(1));
}

// The address holds the request and all choices, so that it can be passed on; not a text that is too long for it.
function link() {
  const text = byId("text").value;
  if (text.length > 2_000) return "";
  const query = new URLSearchParams({text});
  const options = {words: byId("spaced").checked && "1", find: byId("find").value.trim(), k: byId("k").value !== BEST && byId("k").value,
    style: byId("style").selectedIndex > 0 && byId("style").value, layers: byId("layers").value,
    heads: !byId("heads").checked && "0", colours: byId("colours").selectedIndex > 0 && byId("colours").value};
  for (const [name, value] of Object.entries(options)) if (value) query.set(name, value);
  for (const [number, state] of Object.entries(currentStates())) query.set(`s${number}`, JSON.stringify(state));
  return `?${query}`;
}

// The demands and the chosen tree of every sentence that has any.
function currentStates() {
  const shown = cards.map(card => [card.number, card.state]).filter(([, state]) => Object.keys(state).length);
  return {...states, ...Object.fromEntries(shown)};
}

function remember(push = false) {
  const query = link();
  if (query === location.search) return;
  history[push ? "pushState" : "replaceState"](null, "", query || location.pathname);
}

// Puts the link's options into the form. A text or query that the user has already typed stays.
function recallFields({keepTyped = false} = {}) {
  const query = new URLSearchParams(location.search);
  for (const id of ["text", "find"]) {
    if (!keepTyped || !byId(id).value) byId(id).value = query.get(id) ?? "";
  }
  byId("spaced").checked = query.has("words");
  byId("heads").checked = query.get("heads") !== "0";
  for (const id of ["k", "style", "layers", "colours"]) recallChoice(id);
}

// Selects the link's choice, or the default where the link has none that is offered.
function recallChoice(id) {
  const fromLink = new URLSearchParams(location.search).get(id);
  const offered = [...byId(id).options].map(option => option.value);
  const standard = {k: BEST}[id] ?? offered[0];
  const value = [fromLink, standard].find(choice => offered.includes(choice));
  if (value !== undefined) byId(id).value = value;
}

// Parses the link's text.
function parseLink() {
  const query = new URLSearchParams(location.search);
  if (!query.get("text")) return;
  byId("text").blur();  // so that the reader can scroll with the keyboard
  const linkStates = {};
  for (const [name, value] of query) {
    const number = /^s(\d+)$/.exec(name)?.[1];
    try { if (number) linkStates[number] = JSON.parse(value); } catch { /* not one of our links */ }
  }
  parse(linkStates, false);
}

async function copyLink() {
  if (!link()) return setStatus("The text is too long for a link.", true);
  const field = make("input", {value: location.href});
  document.body.append(field);
  field.select();
  // The clipboard of scripts is for secure pages only, and a server in a classroom has no certificate.
  const copied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false) || document.execCommand("copy");
  field.remove();
  setStatus(copied ? "The link is copied." : "Copy the link from the address bar.");
}

function fold(hide = !byId("ask").hidden) {
  byId("ask").hidden = hide;
  byId("fold").textContent = hide ? "Show form" : "Hide form";
  byId("fold").setAttribute("aria-expanded", !hide);
  if (!hide) byId("text").focus();
}

function setStatus(message, problem = false) {
  byId("status").textContent = message;
  byId("status").classList.toggle("problem", problem);
}

const count = (number, noun, plural = `${noun}s`) => `${number.toLocaleString("en")} ${number === 1 ? noun : plural}`;

// ------------------------------------------------------------------------------------------------ sentences

function showSentences(answered) {
  sentences = answered;
  cards = [];
  byId("results").replaceChildren();
  byId("all").hidden = answered.length < 2;
  showMore();
}

function showMore() {
  const next = sentences.slice(cards.length, cards.length + PAGE);
  for (const sentence of next) {
    const card = new Card(sentence, cards.length + 1);
    cards.push(card);
    byId("results").append(card.element);
    card.begin(states[card.number]);
    delete states[card.number];
  }
  byId("more").hidden = cards.length >= sentences.length;
}

class Card {
  constructor(sentence, number) {
    this.first = sentence;  // before anything was required or forbidden
    this.number = number;
    this.demands = [];  // {kind: "require" or "forbid", constraint: as the API takes it}
    this.zoom = 1;
    this.layout = null;  // chosen by the user; otherwise by the available width
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

  // For the link.
  get state() {
    const state = {}, tree = this.coming ?? this.rank + 1;
    if (tree > 1) state.tree = tree;
    for (const kind of ["require", "forbid"]) if (this.constraints(kind).length) state[kind] = this.constraints(kind);
    return state;
  }

  constraints(kind) { return this.demands.filter(demand => demand.kind === kind).map(demand => demand.constraint); }

  begin(state = {}) {
    this.find("h2").textContent = this.sentence.text;
    for (const input of this.element.querySelectorAll(".layouts input")) {
      input.name = `layout-${this.number}`;
      input.addEventListener("change", () => { this.layout = input.value; this.draw(); });
    }
    for (const button of this.element.querySelectorAll("[data-save]")) {
      button.addEventListener("click", () => { this.find(".menu").open = false; this.save(button.dataset.save); });
    }
    for (const button of this.element.querySelectorAll("[data-zoom]")) {
      button.addEventListener("click", () => this.resize(+button.dataset.zoom));
    }
    this.find(".present").addEventListener("click", () => present(presented === this ? null : this));
    this.refresh();
    this.restore(state);
  }

  async restore({tree = 1, require = [], forbid = []}) {
    const read = (kind, listed) => Array.isArray(listed) ? listed.filter(Array.isArray).map(constraint => ({kind, constraint})) : [];
    const demands = [...read("require", require), ...read("forbid", forbid)];
    this.coming = tree;  // in the link already, before the trees under these demands are there
    if (demands.length) await this.demand(demands);
    this.coming = undefined;
    if (tree > 1 && this.trees[tree - 1]) this.choose(tree - 1);
  }

  choose(rank) {
    this.rank = rank;
    this.addRanks();
    this.draw();
    remember();
  }

  resize(step) {
    this.zoom = step ? SIZES[Math.min(SIZES.length - 1, Math.max(0, SIZES.indexOf(this.zoom) + step))] : 1;
    this.fit();
  }

  refresh() {
    const {error, approximate, reason} = this.sentence;
    this.complain(error ?? (approximate ? "Not searched exactly: too long, or very repetitive." : ""));
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
      input.addEventListener("change", () => { this.rank = rank; this.draw(); remember(); });
      const name = make("span", {textContent: rank + 1});
      if (tree.confidence) name.append(make("small", {textContent: this.share(tree)}));
      const label = make("label", {title: tree.score == null ? "" : `score ${tree.score.toFixed(3)}`});
      label.append(input, name);
      return label;
    }));
  }

  // How probable a tree is; of a long sentence, whose trees all have a tiny share, compared with the best of them.
  share(tree) {
    const [best, probability] = [this.trees[0], tree].map(candidate => candidate.confidence?.sentence);
    return best < 0.001 && probability && tree !== this.trees[0] ? `×${(probability / best).toPrecision(2)}` : percent(probability);
  }

  // What was required and forbidden, each with a button that takes it back.
  addDemands() {
    const row = this.find(".demands");
    row.hidden = !this.demands.length;
    row.replaceChildren(...this.demands.map(demand => {
      const button = make("button", {type: "button", className: demand.kind, title: "Take it back"});
      button.append(make("i", {textContent: demand.kind === "require" ? "with" : "without"}), ` ${constraintText(demand.constraint, this.sentence.words)} ×`);
      button.addEventListener("click", () => this.demand(this.demands.filter(other => other !== demand)));
      return button;
    }));
  }

  add(demand) {
    const others = this.demands.filter(other => String(other.constraint) !== String(demand.constraint));
    return this.demand([...others, demand]);
  }

  // The best trees under these demands; the trees stay as they are where there are none.
  async demand(demands) {
    this.demands = demands;
    this.addDemands();
    this.element.setAttribute("aria-busy", "true");
    try {
      remember();
      const sentence = demands.length ? await this.fetch() : this.first;
      if (demands !== this.demands) return;  // the user was quicker
      this.take({...sentence, text: this.first.text});
      this.refresh();
    } catch (error) {
      this.complain(error.message);
    } finally {
      this.element.removeAttribute("aria-busy");
    }
  }

  // This sentence again: as the text it was, if that still has the same words.
  async fetch(more = {}) {
    const request = {...requestOptions(), require: this.constraints("require"), forbid: this.constraints("forbid"), ...more};
    const {words, text, offsets} = this.first;
    if (offsets) {
      const answer = await post({...request, text, one_sentence: true}).catch(() => ({sentences: []}));
      if (String(answer.sentences.map(sentence => sentence.words)) === String([words])) return answer.sentences[0];
    }
    return (await post({...request, words})).sentences[0];
  }

  draw() {
    const figure = this.find(".picture");
    const space = this.element.clientWidth - 16;
    const drawn = Object.keys(LAYOUTS).filter(layout => this.tree.svg[layout]);
    if (this.layout && !drawn.includes(this.layout)) return this.fetchPictures(this.layout);
    let svg, layout;
    for (layout of this.layout ? [this.layout] : drawn) {
      svg = parsePicture(this.tree.svg[layout]);
      if (svg.viewBox.baseVal.width * (presented === this ? 0.6 : LAYOUTS[layout]) <= space) break;
      if (!this.layout && layout === drawn.at(-1) && layout !== "indented") this.fetchPictures("indented");  // a smaller window
    }
    this.shown = layout;
    this.find(`.layouts input[value=${layout}]`).checked = true;
    figure.replaceChildren(svg);
    this.fit();
    const picture = new Picture(svg, layout, this);
    const {matches = [], syntax} = this.tree;
    for (const match of matches) for (const node of [match, ...Object.values(match.names ?? {})]) picture.part(node)?.classList.add("match");
    this.addButtons(".matches", matches.slice(0, MATCHES), picture, match => picture.showMatch(match));
    this.addButtons(".clauses", syntax?.clauses.length > 1 ? syntax.clauses : [], picture, clause => picture.showClause(clause));
    this.showSummary();
  }

  // A button for each match or clause, which shows its words in the picture.
  addButtons(selector, nodes, picture, show) {
    const row = this.find(selector);
    row.hidden = !nodes.length;
    row.replaceChildren(row.firstElementChild, ...nodes.map(node => {
      const {words} = this.sentence;
      const [i, j] = node.span;
      const text = j - i > 6 ? `${words.slice(i, i + 3).join(" ")} … ${words[j - 1]}` : words.slice(i, j).join(" ");
      const button = make("button", {type: "button"});
      button.append(make("i", {textContent: node.kind ?? node.label}), ` ${text}`);
      for (const event of ["pointerenter", "focus"]) button.addEventListener(event, () => show(node));
      for (const event of ["pointerleave", "blur"]) button.addEventListener(event, () => picture.update());
      return button;
    }));
  }

  // The size of the picture: its own, a little smaller on a narrow page; in full screen all that there is.
  fit() {
    const svg = this.find(".picture > svg");
    const value = svg.viewBox.baseVal.width;
    const least = this.shown === "wide" ? value : value * LAYOUTS[this.shown];
    svg.style.cssText = presented === this ? `width:${100 * this.zoom}%;height:${100 * this.zoom}%`
      : `width:clamp(${least * this.zoom}px,${100 * this.zoom}%,${value * this.zoom}px);height:auto`;
    this.find("[data-zoom='0']").textContent = `${Math.round(100 * this.zoom)}%`;
  }

  async fetchPictures(layout) {
    try {
      const sentence = await this.fetch({svg: [layout]});
      [sentence, ...(sentence.alternatives ?? [])].forEach((tree, rank) => Object.assign(this.trees[rank].svg, tree.svg));
      this.draw();
    } catch (error) {
      this.complain(error.message);
    }
  }

  // What differs from the best tree, as the data attributes name it.
  changes() {
    const [best, tree] = [this.first, this.tree];
    const [bestSpans, treeSpans] = [best, tree].map(candidate => new Set((candidate.constituents ?? []).map(String)));
    const spans = new Set([...treeSpans].filter(span => !bestSpans.has(span)));
    const gone = [...bestSpans].filter(span => !treeSpans.has(span)).length;
    const arcs = new Set((tree.heads ?? []).flatMap((head, m) =>
      head !== best.heads[m] || tree.relations[m] !== best.relations[m] ? [m + 1] : []));
    return {spans, gone, arcs};
  }

  // The line below the picture while nothing is pointed at.
  showSummary() {
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

  async save(kind) {
    const name = `sentence-${this.number}${this.rank ? `-tree-${this.rank + 1}` : ""}`;
    if (kind === "conllu") return save(this.tree.conllu, name, kind);
    if (kind === "brackets") return save(this.tree.brackets + "\n", name, kind);
    try {
      save(await this.picture(kind), name, kind);
    } catch (error) {
      this.complain(error.message);
    }
  }

  // The shown tree in another format, drawn for paper: what is saved stays light.
  async picture(kind) {
    const colours = byId("colours").value === "auto" ? "light" : byId("colours").value;
    // A request with an option that its format does not take is refused.
    const {k, style, width, layers, heads} = requestOptions();
    const drawing = kind === "tikz" ? {} : {svg: [this.shown], width, heads, colours, confidence: colours !== "black"};
    const request = {k, style, layers, ...drawing, require: this.constraints("require"), forbid: this.constraints("forbid"),
      words: this.first.words, rank: this.rank + 1};
    const picture = await post(request, {accept: FORMATS[kind === "png" ? "svg" : kind]});
    return kind === "png" ? toPng(await picture.text()) : picture;
  }
}

async function toPng(svg, scale = 3) {
  const image = make("img", {src: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`});
  await image.decode();
  const canvas = make("canvas", {width: image.naturalWidth * scale, height: image.naturalHeight * scale});
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise(resolve => canvas.toBlob(resolve, FORMATS.png));
}

// ------------------------------------------------------------------------------------------- full screen

let presented = null;  // the card that fills the screen

function present(card) {
  presented?.element.classList.remove("presented");
  const previous = presented;
  presented = card;
  document.body.classList.toggle("presenting", Boolean(card));
  card?.element.classList.add("presented");
  // Where there is no full screen (on a telephone), the card fills the window.
  if (card && !document.fullscreenElement) document.documentElement.requestFullscreen?.().catch(() => {});
  if (!card && document.fullscreenElement) document.exitFullscreen();
  for (const shown of [previous, card]) {
    if (!shown) continue;
    shown.zoom = 1;
    shown.find(".present").textContent = shown === card ? "Leave full screen" : "Full screen";
    shown.draw();
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
  const link = make("a");
  link.href = URL.createObjectURL(new Blob([content], {type: FORMATS[kind] ?? "text/plain;charset=utf-8"}));
  link.download = `${name}.${{brackets: "ptb", tikz: "tex"}[kind] ?? kind}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function saveAll(kind) {
  const trees = sentences.map((sentence, index) => cards[index]?.tree ?? sentence);
  save(trees.map(tree => kind === "conllu" ? tree.conllu : tree.brackets + "\n").join(""), "sentences", kind);
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
      if (card.find(".foot").contains(event.relatedTarget)) return;
      this.focused = this.picked = null;
      this.update();
    });
    card.find(".foot").onfocusout = event => { if (!card.element.contains(event.relatedTarget)) this.leave(); };
    card.find(".foot").onkeydown = event => { if (event.key === "Escape") this.leave(); };
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
      part.setAttribute("aria-label", describe(part, this.card).map(factText).join(", "));
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
    const index = this.constituents.indexOf(part);
    const [i, j] = ends(part);
    if (move === "up") return this.constituents.slice(0, index).filter(other => ends(other)[0] <= i && j <= ends(other)[1]).at(-1);
    if (move === "down") {
      const below = this.constituents[index + 1];
      return below && ends(below)[0] >= i && ends(below)[1] <= j ? below : this.word(head ?? i + 1);
    }
    return move === "after"
      ? this.constituents.slice(index + 1).find(other => ends(other)[0] >= j) ?? this.word(j + 1)
      : this.constituents.slice(0, index).filter(other => ends(other)[1] <= i).at(-1) ?? this.word(i);
  }

  go(part) {
    for (const other of this.all('[tabindex="0"]')) other.setAttribute("tabindex", "-1");
    part.setAttribute("tabindex", "0");
    part.focus({preventScroll: true});
    part.scrollIntoView({block: "nearest", inline: "nearest"});
  }

  // The drawn part of a match; a tag is drawn with its word.
  part({label, word, span}) {
    const constituent = this.constituents.find(candidate => candidate.dataset.span === String(span) && candidate.dataset.label === label);
    return word ? this.word(word) : constituent ?? (span[1] - span[0] === 1 ? this.word(span[1]) : null);
  }

  showMatch(match) {
    highlight(this.svg, this.part(match));
    const names = Object.entries(match.names ?? {});
    for (const [, node] of names) this.part(node)?.classList.add("on");
    this.describeBelow([{value: match.label, kind: match.word ? "relation" : "label"}, {name: "span", value: `“${match.text}”`},
      ...names.map(([name, node]) => ({name, value: node.text}))]);
  }

  showClause({kind, span, head, verb, subject, objects}) {
    const part = make("span");
    Object.assign(part.dataset, {span: String(span), head});
    highlight(this.svg, part);
    for (const same of this.all(`[data-span="${span}"]`)) same.classList.add("on");
    this.describeBelow([{value: `${kind} clause`}, {name: "verb", value: verb.text}, ...[subject].filter(Boolean).map(phrase => ({name: "subject", value: phrase.text})),
      ...objects.map(phrase => ({name: "object", value: phrase.text}))]);
  }

  describeBelow(facts) {
    this.details.replaceChildren(...facts.map(({name, value, kind}) => {
      const piece = make("span");
      if (name) piece.append(`${name} `);
      piece.append(make(name ? "span" : "b", {className: name === "head" ? "head" : "", textContent: value}));
      const meaning = explain(kind, value);
      if (meaning) piece.append(" ", make("a", {textContent: meaning, href: `glossary#${kind}-${value}`, target: "_blank"}));
      return piece;
    }));
  }

  update() {
    const part = this.picked ?? this.hovered ?? this.focused;
    highlight(this.svg, part);
    if (!part) return this.card.showSummary();
    this.describeBelow(describe(part, this.card));
    const target = this.picked ?? (this.hovered ? null : this.focused);
    this.card.find(".acts").replaceChildren(...(target ? choices(target, this.card) : []).map(([name, ...demands]) => {
      const button = make("button", {type: "button", textContent: name});
      button.addEventListener("click", () => demands.forEach(demand => this.card.add(demand)));
      return button;
    }));
  }
}

const covers = (constituent, word) => ends(constituent)[0] < +word && +word <= ends(constituent)[1];

// A demand in words.
function constraintText(constraint, words) {
  const [first, ...numbers] = constraint;
  const at = position => words[position - 1] ?? "?";
  if (first === "arc") return `${numbers[0] ? at(numbers[0]) : "root"} → ${at(numbers[1])}`;
  if (first === "root") return `root → ${at(numbers[0])}`;
  const [i, j, label] = first === "head" || first === "span" ? numbers : constraint;
  const span = j - i > 3 ? `${at(i + 1)} … ${at(j)}` : words.slice(i, j).join(" ");
  if (first === "head") return `head ${at(numbers[2])} of “${span}”`;
  return `${label ?? "a constituent"} “${span}”`;
}

// What can be demanded of a part: the name of a button, and the demands that it makes.
function choices(part, card) {
  const {words} = card.sentence;
  const requireOrForbid = (constraint, text) => [[`Require ${text}`, {kind: "require", constraint}], [`Forbid ${text}`, {kind: "forbid", constraint}]];
  if (!part.dataset.span) {
    const m = +part.dataset.word;
    const head = card.tree.heads?.[m - 1];
    return head === undefined ? [] : requireOrForbid(head ? ["arc", head, m] : ["root", m], "arc");
  }
  const [i, j] = ends(part);
  const {label} = part.dataset;
  const buttons = label ? requireOrForbid([i, j, label], label) : [];
  if (j - i < words.length) buttons.splice(1, 0, ["Forbid constituent", {kind: "forbid", constraint: [i, j]}]);
  return buttons;
}

// The meaning of a name in words; of a subtype that the glossary does not have, that of its relation.
function explain(kind, value) {
  const meanings = glossary[kind] ?? {};
  return (meanings[value] ?? meanings[String(value).split(":")[0]])?.[0] ?? "";
}

// The facts about a part: {value}, {name, value}, and the kind of name that the glossary explains.
function describe(part, card) {
  const {words} = card.sentence;
  const {tree} = card;
  const facts = [];
  const add = (name, value, kind) => facts.push({name, value, kind});
  if (part.dataset.span) {
    const [i, j] = ends(part);
    add("", part.dataset.label || "no label", "label");
    add(j - i === 1 ? "word" : "words", j - i === 1 ? j : `${i + 1}–${j}`);
    const inside = words.slice(i, j);
    add("span", `“${(inside.length > 12 ? [...inside.slice(0, 6), "…", ...inside.slice(-5)] : inside).join(" ")}”`);
    if (part.dataset.head) add("head", words[part.dataset.head - 1]);
    else add("", "no single head");
    const sure = tree.confidence?.spans.find(([a, b]) => a === i && b === j);
    if (sure) {
      add("confidence", percent(sure[2]));
      add("in the label", percent(sure[3]));
    }
    return facts;
  }
  const m = +part.dataset.word;
  const [head, relation] = [tree.heads?.[m - 1], tree.relations?.[m - 1]];
  add("", part.matches(".arc") ? `${head ? words[head - 1] : "root"} → ${words[m - 1]}` : words[m - 1]);
  if (part.matches(".word")) {
    add("word", m);
    if (tree.tags[m - 1]) add("tag", tree.tags[m - 1], "tag");
    if (tree.upos[m - 1]) add("universal tag", tree.upos[m - 1], "universal tag");
    if (tree.lemmas?.[m - 1]) add("lemma", tree.lemmas[m - 1]);
    if (tree.features?.[m - 1]) add("features", tree.features[m - 1].replaceAll("|", ", "));
  }
  if (head) add("head", words[head - 1]);
  else if (head === 0) add("", "root of the sentence");
  if (relation) add("relation", relation, "relation");
  const sure = tree.confidence;
  if (sure?.arcs.length) {
    add("confidence", percent(sure.arcs[m - 1]));
    add("in the relation", percent(sure.relations[m - 1]));
  }
  return facts;
}

const factText = ({name, value, kind}) => [name, value, explain(kind, value)].filter(Boolean).join(" ");

// ------------------------------------------------------------------------------------------------ start

async function describeServer() {
  const health = await fetch("health").then(response => response.json()).catch(() => null);
  if (!health?.model) return;
  byId("model").textContent = health.model.name ?? "";
  byId("token-row").hidden = !health.token;
  byId("style").append(...(health.styles ?? []).map(name => make("option", {textContent: name})));
  byId("style").parentElement.hidden = !health.styles?.length;
  byId("card").content.querySelector("[data-save=pdf]").hidden = !health.formats.includes(FORMATS.pdf);
  for (const option of [...byId("k").options]) if (+option.value > health.limits.max_k) option.remove();
  if (!["en", "", null].includes(health.model.language)) return;
  glossary = await fetch("glossary.json").then(response => response.json()).catch(() => ({}));
  for (const text of EXAMPLES) {
    const button = make("button", {type: "button", textContent: text});
    button.addEventListener("click", () => { byId("text").value = text; parse(); });
    byId("examples").lastElementChild.append(button);
  }
  byId("examples").hidden = false;
}

byId("ask").addEventListener("submit", event => { event.preventDefault(); parse(); });
byId("text").addEventListener("keydown", event => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    parse();
  }
});
byId("find").addEventListener("keydown", event => {
  if (event.key === "Enter") {
    event.preventDefault();
    parse(currentStates());
  }
});
for (const id of ["k", "style", "layers", "heads", "colours"]) {
  byId(id).addEventListener("change", () => { if (sentences.length) parse(currentStates()); });
}
byId("skip").addEventListener("click", event => {
  event.preventDefault();
  document.querySelector('.arcspan [tabindex="0"]')?.focus();
});
byId("more").addEventListener("click", showMore);
byId("copy").addEventListener("click", copyLink);
byId("fold").addEventListener("click", () => fold());
for (const button of document.querySelectorAll("#all [data-save]")) {
  button.addEventListener("click", () => saveAll(button.dataset.save));
}
addEventListener("keydown", event => { if (event.key === "Escape" && presented && !document.fullscreenElement) present(null); });
document.addEventListener("fullscreenchange", () => { if (!document.fullscreenElement) present(null); });
document.addEventListener("click", event => {
  for (const menu of document.querySelectorAll(".menu[open]")) if (!menu.contains(event.target)) menu.open = false;
});
let width = document.documentElement.clientWidth;
addEventListener("resize", () => {
  if (document.documentElement.clientWidth === width) return;
  width = document.documentElement.clientWidth;
  for (const card of cards) if (!card.layout) card.draw();
});
addEventListener("popstate", () => { recallFields(); parseLink(); });

// The server's answers may take a while, and the user may be typing already. So the link is read before any request,
// and what depends on an answer leaves alone what the user has touched.
const touched = new Set();
addEventListener("input", event => touched.add(event.target.id), {capture: true});
const typedEarly = Boolean(byId("text").value);  // before this script had arrived
recallFields({keepTyped: true});
describeServer().then(() => {
  for (const id of ["k", "style"]) if (!touched.has(id)) recallChoice(id);
  if (!typedEarly && !touched.has("text") && !running) parseLink();
});
