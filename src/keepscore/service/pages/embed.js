// A board alone: the address says which, how many rows, whom to show, and in which theme.

import "./keepscore-board.js";

const query = new URLSearchParams(location.search);
const element = document.createElement("keepscore-board");
element.setAttribute("board", decodeURIComponent(location.pathname.split("/")[2] ?? ""));
for (const name of ["window", "segment", "rows", "theme", "around"]) {
  if (query.get(name)) element.setAttribute(name, query.get(name));
}
document.body.append(element);
