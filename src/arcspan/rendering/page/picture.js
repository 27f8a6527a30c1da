"use strict";
// Highlights what belongs to a word, a constituent or an arc in a picture of `to_svg`. The page of `arcspan serve` uses
// these functions; a page of `to_html` also runs the loop at the end.

const PARTS = ".constituent, .word, .arc";
const ends = part => part.dataset.span.split(",").map(Number);

// The inside of a constituent; the head, the dependents and the constituents of a word; both ends of an arc.
function related(svg, part) {
  const all = selector => [...svg.querySelectorAll(selector)];
  const {word, span, head} = part.dataset;
  if (span) {
    const [i, j] = ends(part);
    const inside = position => i < +position && +position <= j;
    return [part, ...all(".word, .edges [data-word]").filter(one => inside(one.dataset.word)),
      ...all(".arc").filter(one => inside(one.dataset.word) && inside(one.dataset.head)),
      ...all(".constituent, .edges [data-span]").filter(one => {
        const [a, b] = ends(one);
        return i <= a && b <= j && (a > i || b < j);
      })];
  }
  const found = [part, ...all(`.arc[data-word="${word}"], .word[data-word="${word}"], .word[data-word="${head}"]`)];
  if (part.matches(".word")) {
    found.push(...all(`.constituent[data-head="${word}"], .spine[data-head="${word}"]`));
    for (const arc of all(`.arc[data-head="${word}"]`)) found.push(arc, ...all(`.word[data-word="${arc.dataset.word}"]`));
  }
  return found;
}

// Dims everything else; null shows everything again.
function highlight(svg, part) {
  for (const marked of svg.querySelectorAll(".on, .governor")) marked.classList.remove("on", "governor");
  svg.classList.toggle("focus", Boolean(part));
  if (!part) return;
  for (const other of related(svg, part)) other.classList.add("on");
  svg.querySelector(`.word[data-word="${part.dataset.head}"]`)?.classList.add("governor");
}

for (const svg of document.querySelectorAll("svg.arcspan")) {
  const about = svg.closest("figure")?.querySelector(".about");
  const show = part => {
    highlight(svg, part);
    if (about) about.textContent = part?.querySelector("title")?.textContent ?? "";
  };
  for (const part of svg.querySelectorAll(PARTS)) {
    part.setAttribute("tabindex", "0");
    for (const event of ["pointerenter", "focus"]) part.addEventListener(event, () => show(part));
    for (const event of ["pointerleave", "blur"]) part.addEventListener(event, () => show(null));
  }
}
