// Light or dark: as the system says, until somebody chooses.

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
    // chosen for this visit only
  }
});
apply(remembered());
