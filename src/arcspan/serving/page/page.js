"use strict";
// The page: sends text to the API, shows the pictures that it draws, and says what one points at.
// Text from the user or the server goes into the page as text nodes only; pictures are parsed as XML, and the
// page's policy runs no script but this file.

const byId = id => document.getElementById(id);
const EXAMPLES = ["Logic plays a maximal role here.", "I saw the astronomer with a telescope.", "The old man the boats, and the young stay at home."];
const PAGE = 20;  // sentences shown at once
const PARTS = ".constituent, .word, .arc";
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
  try {
    const answer = await send(text, signal);
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

async function send(text, signal) {
  const request = {k: +byId("k").value, confidence: true, svg: ["wide", "tall"]};
  if (byId("spaced").checked) {
    request.words = text.split("\n").map(line => line.split(/\s+/u).filter(Boolean)).filter(line => line.length);
  } else {
    request.text = text;
  }
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
    this.sentence = sentence;
    this.number = number;
    this.trees = [sentence, ...(sentence.alternatives ?? [])];
    this.rank = 0;
    this.layout = null;  // chosen by the user; otherwise by the room there is
    this.element = byId("card").content.firstElementChild.cloneNode(true);
    this.find = selector => this.element.querySelector(selector);
  }

  get tree() { return this.trees[this.rank]; }

  begin() {
    this.find("h2").textContent = this.sentence.text;
    if (this.sentence.error || this.sentence.approximate) {
      this.find(".problem").hidden = false;
      this.find(".problem").textContent = this.sentence.error ?? "Too long for the exact search: parsed in pieces.";
    }
    this.addRanks();
    for (const input of this.element.querySelectorAll(".layouts input")) {
      input.name = `layout-${this.number}`;
      input.addEventListener("change", () => { this.layout = input.value; this.draw(); });
    }
    for (const button of this.element.querySelectorAll("[data-save]")) {
      button.addEventListener("click", () => this.save(button.dataset.save));
    }
    this.draw();
  }

  addRanks() {
    const ranks = this.find(".ranks");
    ranks.hidden = this.trees.length < 2;
    this.trees.forEach((tree, rank) => {
      const input = Object.assign(document.createElement("input"), {type: "radio", name: `rank-${this.number}`, checked: !rank});
      input.addEventListener("change", () => { this.rank = rank; this.draw(); });
      const name = document.createElement("span");
      name.append(String(rank + 1));
      const sure = tree.confidence?.sentence;
      if (this.trees[0].confidence?.sentence >= 0.001) name.append(Object.assign(document.createElement("small"), {textContent: percent(sure)}));
      const label = document.createElement("label");
      label.title = tree.score == null ? "" : `score ${tree.score.toFixed(3)}`;
      label.append(input, name);
      ranks.append(label);
    });
  }

  draw() {
    const room = this.find(".picture");
    const wide = parsePicture(this.tree.svg.wide);
    const fits = wide.width.baseVal.value <= this.element.clientWidth - 16;
    const layout = this.layout ?? (fits ? "wide" : "tall");
    this.shown = layout;
    this.find(`.layouts input[value=${layout}]`).checked = true;
    const svg = layout === "wide" ? wide : parsePicture(this.tree.svg.tall);
    if (layout === "tall") {  // may shrink a little where the screen is narrow
      const {value} = svg.width.baseVal;
      svg.style.cssText = `width:clamp(${Math.min(value, Math.max(value * 0.72, 0))}px,100%,${value}px);height:auto`;
    }
    room.replaceChildren(svg);
    new Picture(svg, layout, this);
    this.rest();
  }

  // What differs from the best tree, as the data attributes name it.
  changes() {
    const [best, tree] = [this.trees[0], this.tree];
    const [known, own] = [best, tree].map(one => new Set(one.constituents.map(String)));
    const spans = new Set([...own].filter(span => !known.has(span)));
    const gone = [...known].filter(span => !own.has(span)).length;
    const arcs = new Set(tree.heads.flatMap((head, m) =>
      head !== best.heads[m] || tree.relations[m] !== best.relations[m] ? [m + 1] : []));
    return {spans, gone, arcs};
  }

  // The line below the picture while nothing is pointed at.
  rest() {
    const details = this.find(".details");
    if (this.rank) {
      const {spans, gone, arcs} = this.changes();
      details.textContent = `Unlike tree 1: ${[
        spans.size && `${count(spans.size, "new constituent")}`, gone && `${count(gone, "constituent")} gone`,
        arcs.size && `${count(arcs.size, "other arc")}`,
      ].filter(Boolean).join(", ")}.`;
    } else {
      details.textContent = matchMedia("(pointer: coarse), (max-width: 40rem)").matches ? "Tap a word, a constituent or an arc." : "Point at a word, a constituent or an arc; from the keyboard, Tab here and use the arrow keys, H for the head.";
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

const percent = value => value >= 0.9995 ? "100%" : value < 0.0005 ? "<0.1%" : `${(100 * value).toFixed(1)}%`;

function save(content, name, kind) {
  const [ending, type] = {svg: ["svg", "image/svg+xml"], conllu: ["conllu", "text/plain"], brackets: ["ptb", "text/plain"]}[kind];
  const link = document.createElement("a");
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
    this.hovered = this.focused = null;
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
      if (part) this.go(part); else document.activeElement?.blur();
    });
    svg.addEventListener("focusin", event => { this.focused = event.target.closest(PARTS); this.update(); });
    svg.addEventListener("focusout", () => { this.focused = null; this.update(); });
    svg.addEventListener("keydown", event => this.press(event));
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
      if (part.matches(".arc")) {
        const path = part.querySelector("path:not(.tip)");
        const reach = path.cloneNode();
        reach.setAttribute("class", "reach");
        path.before(reach);
        part.classList.toggle("changed", arcs.has(+part.dataset.word));
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
    if (event.key === "Escape") return document.activeElement.blur();
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
    const part = this.hovered ?? this.focused;
    for (const marked of this.all(".on, .governor")) marked.classList.remove("on", "governor");
    this.svg.classList.toggle("focus", Boolean(part));
    if (!part) return this.card.rest();
    for (const other of this.related(part)) other.classList.add("on");
    this.word(part.dataset.head)?.classList.add("governor");
    this.details.replaceChildren(...describe(part, this.card).map(([text, name, value]) => {
      const piece = document.createElement("span");
      if (value === undefined) piece.append(Object.assign(document.createElement("b"), {textContent: text}));
      else piece.append(`${name} `, Object.assign(document.createElement("span"), {className: name === "head" ? "head" : "", textContent: value}));
      return piece;
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
  const [head, relation] = [tree.heads[m - 1], tree.relations[m - 1]];
  found.push([part.matches(".arc") ? `${head ? words[head - 1] : "root"} → ${words[m - 1]}` : words[m - 1]]);
  if (part.matches(".word")) found.push(pair("word", m), ...[tree.tags[m - 1], tree.upos[m - 1]].filter(Boolean).map(tag => pair("tag", tag)));
  found.push(head ? pair("head", words[head - 1]) : ["root of the sentence"]);
  if (relation) found.push(pair("relation", relation));
  const sure = tree.confidence;
  if (sure) found.push(pair("confidence", percent(sure.arcs[m - 1])), pair("in the relation", percent(sure.relations[m - 1])));
  return found;
}

// ------------------------------------------------------------------------------------------------ beginning

async function greet() {
  const health = await fetch("health").then(response => response.json()).catch(() => null);
  if (!health?.model) return;
  byId("model").textContent = health.model.name ?? "";
  byId("token-row").hidden = !health.token;
  for (const option of [...byId("k").options]) if (+option.value > health.limits.max_k) option.remove();
  if (["en", "", null].includes(health.model.language)) {
    for (const text of EXAMPLES) {
      const button = Object.assign(document.createElement("button"), {type: "button", textContent: text});
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
byId("k").addEventListener("change", () => { if (sentences.length) ask(); });
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
greet();
