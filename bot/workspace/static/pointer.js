// What is drawn anew must not take a button away between the press and the release of the mouse:
// the browser then tells nobody of a click.

let down = false;
const later = new Map();

function release() {
  down = false;
  const due = [...later.values()];
  later.clear();
  for (const draw of due) draw();
}

addEventListener("pointerdown", () => { down = true; }, true);
// After the click, which follows the release at once.
for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => setTimeout(release), true);
addEventListener("blur", release);

// Draw now, or when nothing is pressed any more; of several by one key the last.
export function whenReleased(key, draw) {
  if (down) later.set(key, draw);
  else draw();
}
