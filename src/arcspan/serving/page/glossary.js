"use strict";
// Tables of labels, relations and tags, from glossary.json; an address such as #label-NP leads to a row.

const TITLES = {label: "Constituents", relation: "Relations", "universal tag": "Universal tags", tag: "Treebank tags"};
const make = (name, properties, ...children) => {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
};

// **bold** is the word in question, *italic* its head.
const example = text => text.split(/(\*\*.+?\*\*|\*.+?\*)/).map(piece =>
  piece.startsWith("**") ? make("b", {}, piece.slice(2, -2)) : piece.startsWith("*") ? make("i", {}, piece.slice(1, -1)) : piece);

fetch("glossary.json").then(response => response.json()).then(glossary => {
  for (const [kind, names] of Object.entries(glossary)) {
    const rows = Object.entries(names).map(([name, [meaning, shown]]) =>
      make("tr", {id: `${kind}-${name}`}, make("th", {}, name), make("td", {}, meaning), make("td", {}, ...example(shown))));
    document.getElementById("tables").append(make("div", {className: "card"}, make("h2", {}, TITLES[kind]), make("table", {}, ...rows)));
  }
  const wanted = decodeURIComponent(location.hash.slice(1));
  const row = document.getElementById(wanted) ?? document.getElementById(wanted.split(":")[0]);
  row?.classList.add("changed");
  row?.scrollIntoView({block: "center"});
});
