"use strict";
// The data of the page, and the functions that its other scripts share.

const PAGE = JSON.parse(document.getElementById("data").textContent);
const POINT = ["sweep", "origin", "gpu", "op", "dtype", "distribution", "M", "N"];
const find = (selector, inside = document) => inside.querySelector(selector);

// Turns columns (analysis/html/data.py) into one object per row.
function unpacked(columns) {
  const names = Object.keys(columns);
  const values = names.map((name) => {
    const column = columns[name];
    return Array.isArray(column) ? column : column.codes.map((code) => column.words[code]);
  });
  return values[0].map((_, i) => Object.fromEntries(names.map((name, j) => [name, values[j][i]])));
}

const ROWS = unpacked(PAGE.rows);
// Charts also show torch where it is only the control of other rows.
const DRAWN = [...ROWS, ...unpacked(PAGE.controls)];
const PUBLISHED = unpacked(PAGE.published);

// Writes a number as analysis/markdown.py does: with `digits` significant digits.
function number(value, digits = 4) {
  if (value === null) return "";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e9)) return value.toExponential(digits - 1);
  const decimals = size === 0 ? 0 : digits - 1 - Math.floor(Math.log10(size));
  return value.toFixed(Math.max(0, decimals));
}

function withInterval(value, low, high) {
  const has = low !== null && high !== null;
  return has ? `${number(value)} [${number(low)}, ${number(high)}]` : number(value);
}

// An element with attributes and children; strings become text, never markup.
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function svg(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// An SVG element in the variant's colour of the theme.
function coloured(made, variant) {
  made.style.setProperty("--light", PAGE.looks[variant].colour);
  made.style.setProperty("--dark", PAGE.looks[variant].dark);
  return made;
}

function marker(variant) {
  const shape = svg("path", { d: PAGE.looks[variant].path });
  return coloured(svg("svg", { class: "marker", viewBox: "-1.1 -1.1 2.2 2.2", "aria-hidden": "true" }, shape), variant);
}

// Up to `most` (>= 2) items, evenly spaced, with the first and the last.
function evenly(items, most) {
  if (items.length <= most) return items;
  const step = (items.length - 1) / (most - 1);
  return Array.from({ length: most }, (_, i) => items[Math.round(i * step)]);
}

const distinct = (values) => [...new Set(values)];

// The theme is the system's until the reader chooses one.

const theme = find("#theme");

function apply(choice) {
  if (choice) document.documentElement.dataset.theme = choice;
  else delete document.documentElement.dataset.theme;
  theme.value = choice;
}

function remembered() {
  try {
    return localStorage.getItem("theme") || "";
  } catch {
    return ""; // a browser may forbid storage to a file
  }
}

theme.addEventListener("change", () => {
  apply(theme.value);
  try {
    localStorage.setItem("theme", theme.value);
  } catch {
    // the choice holds for this visit only
  }
});
apply(remembered());

// A print shows short tables unfolded, and only the summary of long ones.
const MOST_PRINTED = 60; // rows
let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:not([open])")].filter((part) => part.querySelectorAll("tbody tr").length <= MOST_PRINTED);
  for (const part of folded) part.open = true;
});
addEventListener("afterprint", () => {
  for (const part of folded) part.open = false;
});
