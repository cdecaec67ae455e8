// The question: the form, the address, and the named shapes. It starts the page.

const question = find("#question");
let asked, frame; // the last valid question

// Answers the form, and writes the question into the address. No field changes another one.
function ask() {
  const values = Object.fromEntries(new FormData(question));
  for (const name of ["M", "N"]) {
    const whole = /^[1-9]\d{0,11}$/.test(values[name].trim());
    question.elements[name].setAttribute("aria-invalid", String(!whole));
    values[name] = Number(values[name]);
  }
  const valid = !question.querySelector("[aria-invalid=true]");
  complain(valid ? "" : "M and N are whole numbers from 1 up, such as 1024 and 8192.");
  if (!valid) return;
  asked = values;
  models.value = WORKLOADS.findIndex(isWorkload(asked));
  if (models.selectedIndex < 0) models.selectedIndex = 0;
  answer(asked);
  showGrid(asked);
  const before = location.hash; // a link may be followed meanwhile
  cancelAnimationFrame(frame); // while a number is typed, only the last question counts
  frame = requestAnimationFrame(() => {
    if (location.hash === before) history.replaceState(null, "", address(asked));
    follow(asked);
    list();
  });
}

// Says what is wrong with a question; meanwhile there is no answer to another one.
function complain(fault) {
  say("#fault", fault);
  find("#reply").hidden = Boolean(fault);
  if (fault) find("#behind").hidden = true;
}

// The picker of named shapes; it fills the operation, the element type, M and N.
const models = find("#named select");
// Measured ones come first, by operation; the others, which get an estimate at best, come last.
const UNMEASURED = "not measured";
const groupOf = (workload) =>
  RANKED.some((row) => isWorkload(row)(workload)) ? workload.op : UNMEASURED;
const groups = [...Map.groupBy(WORKLOADS, groupOf)];
groups.sort(by(([label, group]) => (label === UNMEASURED ? 1 : -group.length)));
for (const [label, group] of groups)
  models.append(h("optgroup", { label }, ...group.map((workload) => {
    const op = label === UNMEASURED ? `${workload.op}, ` : "";
    const text = `${workload.name}: ${op}${sizeName(workload)}, ${workload.dtype}`;
    return h("option", { value: WORKLOADS.indexOf(workload) }, text);
  })));
find("#named").hidden = !WORKLOADS.length;
models.addEventListener("input", () => {
  const workload = WORKLOADS[models.value];
  if (workload) fill({ ...workload, gpu: question.elements.gpu.value });
});

// Fills the form. An operation or element type without a row is added to the choice.
function fill(values) {
  for (const name of FIELDS) {
    const field = question.elements[name];
    if (field.options && ![...field.options].some((option) => option.value === values[name]))
      field.append(h("option", { value: values[name] }, values[name]));
    field.value = values[name];
  }
}

const CHOICES = {
  gpu: Object.keys(PAGE.gpus).filter((gpu) => RANKED.some((row) => row.gpu === gpu)).sort(by(isCheck)),
  op: distinct([...RANKED, ...WORKLOADS].map((row) => row.op)).sort(),
  dtype: ["float32", "float16", "bfloat16"],
};
const FIELD_NAMES = { gpu: "GPU", op: "operation", dtype: "element type" };

// Fills the form from the address, or says which parts of it name nothing on this page. Returns
// whether the address is a question; else it is a section of the page.
function read() {
  const words = location.hash.slice(1).split("/");
  if (words.length < 2 && (!words[0] || document.getElementById(words[0]))) return false;
  const [gpu, op, dtype, ...rest] = words;
  const size = rest.join("/").match(/^([1-9]\d{0,11})x([1-9]\d{0,11})$/);
  const faults = Object.entries({ gpu, op, dtype }).flatMap(([name, value]) => {
    if (CHOICES[name].includes(value)) return [];
    const field = value ? `${FIELD_NAMES[name]} “${value}”` : FIELD_NAMES[name];
    return `no ${field} (choose ${CHOICES[name].join(", ")})`;
  });
  const sizeWords = rest.length ? ` “${rest.join("/")}”` : "";
  if (!size) faults.push(`no size${sizeWords} (write M x N, such as 1024x8192)`);
  if (!faults.length) return fill({ gpu, op, dtype, M: size[1], N: size[2] }), ask(), true;
  complain(`This page cannot answer the address “#${words.join("/")}”: ${faults.join("; ")}.`);
  return true;
}

find("#link").addEventListener("click", (event) => {
  event.preventDefault();
  history.replaceState(null, "", address(asked));
  const failed = () => say("#linked", "The address bar has the link.");
  if (!navigator.clipboard) return failed();
  navigator.clipboard.writeText(location.href).then(() => say("#linked", "Copied."), failed);
});
metric.addEventListener("input", () => {
  if (asked) answer(asked);
});
addEventListener("submit", (event) => event.preventDefault());

document.documentElement.classList.add("js");
for (const details of document.querySelectorAll("#best details")) details.open = false;
if (innerWidth < 700)
  for (const details of document.querySelectorAll("#models details, #claims details")) details.open = false;
if (CHOICES.gpu.length) {
  for (const [name, values] of Object.entries(CHOICES))
    question.elements[name].append(...values.map((value) =>
      h("option", { value }, name === "gpu" ? gpuName(value) : value)));
  // The first question is a race of as many projects as there is.
  const own = Map.groupBy(RANKED.filter((row) => row.gpu === CHOICES.gpu[0]), place);
  const peers = (rows) => rows.filter((row) => row.variant.startsWith("peer_")).length;
  const contest = (rows) => (rows[0].no_winner ? 0 : 1 + peers(rows));
  const races = [...own.values()].sort(by((rows) => -contest(rows)));
  const liveliest = races.filter((rows) => contest(rows) === contest(races[0]));
  fill(nearest(liveliest.map(([row]) => row), { M: 1024, N: 8192 })[0]);
  question.addEventListener("input", ask);
  addEventListener("hashchange", read);
  if (!read() || !asked) {
    if (!find("#fault").textContent) ask();
    else list(), PAGE.charts.length && draw();
  }
} else {
  for (const part of document.querySelectorAll("#answer .script")) part.remove();
  list();
  if (PAGE.charts.length) draw();
}
